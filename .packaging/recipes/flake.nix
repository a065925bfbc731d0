# nix. Untested.
{
  description = "Runs GPT-style models on a CPU and shows what their attention does";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "attn-cli";
          version = "@VERSION@";
          src = ../..;
          nativeBuildInputs = [ pkgs.pkg-config ];
          buildInputs = [ pkgs.cjson pkgs.pcre2 pkgs.zlib ];
          postPatch = "patchShebangs tests/tools .packaging";
          makeFlags = [ "XSMM=no" "PREFIX=${placeholder "out"}" ];
          meta = {
            homepage = "@HOMEPAGE@";
            license = map pkgs.lib.getLicenseFromSpdxId [ "MIT" "BSD-3-Clause" "MIT-CMU" "Unicode-3.0" ];
            mainProgram = "attn-cli";
            platforms = systems;
          };
        };
      });
    };
}
