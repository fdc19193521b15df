// A file while it is written: a neighbour of its target, which takes the target's name when it is
// complete. What is not complete is removed, also when a signal ends the process.
#pragma once

#include <filesystem>
#include <string_view>

namespace bwmm {

// The name a path leads to when its links are followed, whether or not a file has that name.
std::filesystem::path FollowLinks(const std::filesystem::path& path);

// Whether two names lead to one file: the same file where both exist, the same place where none
// does.
bool SameFile(const std::filesystem::path& a, const std::filesystem::path& b);

class PartFile {
 public:
  // SimError when `path` is a folder or a special file: neither is ever replaced. Creates nothing.
  // `what` tells the parts of one target apart.
  explicit PartFile(const std::filesystem::path& path, std::string_view what = "");
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // Where to write.
  const std::filesystem::path& path() const { return part_; }
  // Creates it empty, with the target's permissions, and answers a descriptor to write to.
  int Create();
  // Closes a descriptor of Create with everything on the disk. SimError when it cannot be.
  void Close(int descriptor);
  // Gives it the target's name.
  void Commit();
  // SimError naming the target and the reason.
  [[noreturn]] void Refuse(int reason) const;

 private:
  std::filesystem::path named_;  // as the user wrote it
  std::filesystem::path target_;
  std::filesystem::path part_;
};

// Removes every part there is, and lets no other be made: the process is about to end.
void RemoveAllParts();

}  // namespace bwmm
