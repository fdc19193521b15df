// Files are whole or absent, and what is not a file is left what it is.
#include "model/support/write_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "model/support/sim_error.h"
#include "tests/host/temp_dir.h"

namespace bwmm {
namespace {

namespace fs = std::filesystem;

std::string TextIn(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t FilesIn(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(WriteFile, ReplacesAFileAndLeavesNothingBeside) {
  const TempDir dir;
  const fs::path path = dir.Write("out.txt", "old and longer");
  WriteFileAtomically(path, {BytesOf("ne"), BytesOf("w")});
  EXPECT_EQ(TextIn(path), "new");
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
}

TEST(WriteFile, FollowsALink) {
  const TempDir dir;
  const fs::path path = dir.Write("out.txt", "old");
  const fs::path link = path.parent_path() / "link";
  fs::create_symlink("out.txt", link);
  WriteFileAtomically(link, {BytesOf("new")});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(TextIn(path), "new");
}

TEST(WriteFile, FollowsALinkToAFileThatIsNotThere) {
  const TempDir dir;
  const fs::path link = dir / "link";
  fs::create_symlink("out.txt", link);
  WriteFileAtomically(link, {BytesOf("new")});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(TextIn(dir / "out.txt"), "new");
}

TEST(WriteFile, RejectsAFullDevice) {
  // A node of our own, so that the host keeps its /dev/full whatever goes wrong.
  const TempDir dir;
  fs::path full = dir / "full";
  if (::mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0 ||
      ::access(full.c_str(), W_OK) != 0)
    full = "/dev/full";  // where no devices can be made
  EXPECT_THROW(WriteFileAtomically(full, {BytesOf("x")}), SimError);
  EXPECT_TRUE(fs::is_character_file(full));
}

TEST(WriteFile, WritesIntoAPipeAndKeepsIt) {
  const TempDir dir;
  const fs::path pipe = dir / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = TextIn(pipe); });
  WriteFileAtomically(pipe, {BytesOf("through")});
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(FilesIn(pipe.parent_path()), 1u);
}

TEST(WriteFile, RejectsAFolderAndAMissingFolder) {
  const TempDir dir;
  const fs::path folder = dir / "folder";
  fs::create_directory(folder);
  for (const fs::path& path : {folder, dir / "no" / "such"}) {
    EXPECT_THROW(CheckWritable(path), SimError) << path;
    EXPECT_THROW(WriteFileAtomically(path, {BytesOf("x")}), SimError) << path;
  }
  EXPECT_EQ(FilesIn(folder.parent_path()), 1u);
}

TEST(WriteFile, CheckingLeavesAFileAsItIs) {
  const TempDir dir;
  const fs::path path = dir.Write("out.txt", "old");
  CheckWritable(path);
  CheckWritable(dir / "none.txt");
  EXPECT_EQ(TextIn(path), "old");
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
}

}  // namespace
}  // namespace bwmm
