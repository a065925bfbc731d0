/* entry.c - makes the command a function of the libattn.so of a wheel, so that the wheel contains
 * the library once. attn-cli.c calls it. */

__attribute__((visibility("hidden"))) int main(int argc, char **argv);
__attribute__((visibility("default"))) int attn_cli_main(int argc, char **argv);

int attn_cli_main(int argc, char **argv)
{
    return main(argc, argv);
}
