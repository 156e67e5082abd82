#include "master/api/checkpoints/checkpoint_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

constexpr size_t kChunkSize = size_t{1} << 20;

la_ssize_t AppendTo(archive*, void* out, const void* bytes, size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

archive* StartArchive(CheckpointArchive::Format format, std::string* out) {
  archive* const writer = archive_write_new();
  // Weights hardly compress, so the fastest level is sufficient.
  if (format == CheckpointArchive::Format::kTgz) {
    archive_write_add_filter_gzip(writer);
    archive_write_set_filter_option(writer, "gzip", "compression-level", "1");
    archive_write_set_format_pax_restricted(writer);
  } else {
    archive_write_set_format_zip(writer);
    archive_write_set_format_option(writer, "zip", "compression-level", "1");
  }
  archive_write_set_bytes_per_block(writer, 0);
  archive_write_open(writer, out, nullptr, AppendTo, nullptr);
  return writer;
}

absl::Status MakeSizeError(const std::string& path) {
  return absl::DataLossError(absl::StrCat(
      path, ": the size differs from the size in the checkpoint; the file was changed"));
}

}  // namespace

CheckpointArchive::CheckpointArchive(Format format, Files files, absl::Time time, Open open)
    : files_(std::move(files)),
      time_(time),
      open_(std::move(open)),
      next_(files_.begin()),
      writer_(StartArchive(format, &out_), archive_write_free) {}

CheckpointArchive::~CheckpointArchive() {
  // Without this call, freeing the writer would complete a partial archive.
  archive_write_fail(writer_.get());
}

absl::Status CheckpointArchive::CheckResult(int code) const {
  if (code >= ARCHIVE_WARN) return absl::OkStatus();
  const char* const reason = archive_error_string(writer_.get());
  return absl::InternalError(
      absl::StrCat("cannot write the archive: ", reason == nullptr ? "unknown error" : reason));
}

absl::StatusOr<std::string> CheckpointArchive::Next() {
  while (!finished_ && out_.size() < kChunkSize) DET_RETURN_IF_ERROR(ReadStep());
  return std::exchange(out_, std::string());
}

absl::Status CheckpointArchive::ReadStep() {
  if (!reader_ && next_ != files_.end()) return BeginFile();
  if (!reader_) {
    finished_ = true;
    return CheckResult(archive_write_close(writer_.get()));
  }
  DET_ASSIGN_OR_RETURN(const std::string chunk, reader_());
  const auto size = static_cast<int64_t>(chunk.size());
  if (size > left_ || (size == 0 && left_ > 0)) return MakeSizeError(path_);
  left_ -= size;
  if (size == 0) {
    reader_ = nullptr;
    return CheckResult(archive_write_finish_entry(writer_.get()));
  }
  const la_ssize_t written = archive_write_data(writer_.get(), chunk.data(), chunk.size());
  return CheckResult(written == size ? ARCHIVE_OK : ARCHIVE_FATAL);
}

absl::Status CheckpointArchive::BeginFile() {
  std::tie(path_, left_) = *next_++;
  const bool folder = path_.ends_with('/');
  if (!folder) {
    DET_ASSIGN_OR_RETURN(reader_, open_(path_));
  }
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_set_pathname(entry.get(), path_.c_str());
  archive_entry_set_filetype(entry.get(), folder ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), folder ? 0755 : 0644);
  archive_entry_set_size(entry.get(), folder ? 0 : left_);
  archive_entry_set_mtime(entry.get(), absl::ToUnixSeconds(time_), 0);
  return CheckResult(archive_write_header(writer_.get(), entry.get()));
}

}  // namespace det::api
