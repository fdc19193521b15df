// Names that lead to one file, and parts that never stay.
#include "model/support/part_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "model/support/sim_error.h"
#include "tests/host/temp_dir.h"

namespace bwmm {
namespace {

namespace fs = std::filesystem;

std::size_t FilesIn(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(SameFile, SeesThroughSpellingsAndLinks) {
  const TempDir dir;
  const fs::path file = dir.Write("file", "x");
  const fs::path folder = file.parent_path();
  fs::create_symlink("file", folder / "link");
  fs::create_hard_link(file, folder / "hard");
  for (const fs::path& name :
       {file, folder / "." / "file", folder / ".." / folder.filename() / "file", folder / "link",
        folder / "hard", fs::relative(file)}) {
    EXPECT_TRUE(SameFile(file, name)) << name;
    EXPECT_TRUE(SameFile(name, file)) << name;
  }
  EXPECT_FALSE(SameFile(file, dir.Write("other", "x")));
  EXPECT_FALSE(SameFile(file, folder / "none"));
}

TEST(SameFile, ComparesPlacesWhereNothingIsYet) {
  const TempDir dir;
  const fs::path folder = dir / "folder";
  fs::create_directory(folder);
  fs::create_symlink("none", folder / "link");
  fs::create_directory_symlink("folder", dir / "way");
  EXPECT_TRUE(SameFile(folder / "none", folder / "link"));
  EXPECT_TRUE(SameFile(folder / "none", dir / "way" / "none"));
  EXPECT_TRUE(SameFile("none", "./none"));
  EXPECT_FALSE(SameFile(folder / "none", dir / "none"));
}

TEST(FollowLinks, RejectsALoop) {
  const TempDir dir;
  fs::create_symlink("a", dir / "b");
  fs::create_symlink("b", dir / "a");
  EXPECT_THROW(FollowLinks(dir / "a"), SimError);
}

TEST(PartFile, LeavesNothingWithoutCommit) {
  const TempDir dir;
  const fs::path path = dir.Write("file", "old");
  {
    PartFile part(path);
    part.Close(part.Create());
    EXPECT_EQ(FilesIn(path.parent_path()), 2u);
  }
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
  EXPECT_EQ(fs::file_size(path), 3u);
}

TEST(PartFile, TakesNameAndPermissionsOfItsTarget) {
  const TempDir dir;
  const fs::path path = dir.Write("file", "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read);
  PartFile part(path);
  part.Close(part.Create());
  part.Commit();
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
  EXPECT_EQ(fs::file_size(path), 0u);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::group_read);
}

TEST(PartFile, RejectsSpecialFilesAndFolders) {
  const TempDir dir;
  const fs::path pipe = dir / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", dir / "link");
  for (const fs::path& path : {pipe, dir / "link", fs::path("/dev/null")}) {
    try {
      const PartFile part(path);
      FAIL() << path;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(path.string()));
      EXPECT_THAT(error.what(), testing::HasSubstr("regular file"));
    }
  }
  EXPECT_THROW(PartFile(pipe.parent_path()), SimError);
}

TEST(RemoveAllParts, TakesTheUnfinishedOnesOnly) {
  const TempDir dir;
  const fs::path path = dir / "file";
  // It holds its lock for good, so in a process of its own.
  EXPECT_EXIT(
      {
        PartFile done(dir / "done");
        done.Close(done.Create());
        done.Commit();
        PartFile part(path);
        part.Close(part.Create());
        RemoveAllParts();
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
  EXPECT_TRUE(fs::exists(dir / "done"));
}

}  // namespace
}  // namespace bwmm
