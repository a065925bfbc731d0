# Homebrew, on Linux. Untested.
class AttnCli < Formula
  desc "Runs GPT-style models on a CPU and shows what their attention does"
  homepage "@HOMEPAGE@"
  url "@HOMEPAGE@/attn-cli-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license all_of: ["MIT", "BSD-3-Clause", "MIT-CMU", "Unicode-3.0"]

  depends_on "pkgconf" => :build
  depends_on "cjson"
  depends_on :linux
  depends_on "pcre2"
  depends_on "zlib"

  def install
    system "make", "XSMM=no", "PREFIX=#{prefix}", "install"
  end

  test do
    assert_match "dessert", shell_output("#{bin}/attn-cli run 'Life is short, eat dessert first'")
  end
end
