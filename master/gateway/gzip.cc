#include "master/gateway/gzip.h"

#include <zlib.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace det::gateway {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, with a gzip header
constexpr size_t kPiece = 64 << 10;

// zlib only reads from it.
Bytef* Bytes(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

std::string Gzip(std::string_view text) {
  z_stream stream = {};
  // Fastest level: responses are not stored.
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = Bytes(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

absl::StatusOr<std::string> Gunzip(std::string_view bytes, uint64_t limit) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return absl::ResourceExhaustedError("out of memory while decompressing gzip");
  }
  stream.next_in = Bytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  const auto piece = std::make_unique<char[]>(kPiece);
  int code = Z_OK;
  while (code == Z_OK && out.size() <= limit) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.get());
    stream.avail_out = static_cast<uInt>(kPiece);
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.get(), kPiece - stream.avail_out);
  }
  const bool whole = code == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (out.size() > limit) {
    return absl::OutOfRangeError(absl::StrCat("the request is larger than ", limit, " bytes"));
  }
  if (!whole) return absl::InvalidArgumentError("the body is not one complete gzip stream");
  return out;
}

}  // namespace det::gateway
