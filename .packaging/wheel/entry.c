/* entry.c - makes the command a function of the libattn of a wheel, so that the wheel contains
 * the library once. attn-cli.c calls it. */

#ifdef _WIN32
#define EXPORTED __attribute__((dllexport))
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

__attribute__((visibility("hidden"))) int main(int argc, char **argv);
EXPORTED int attn_cli_main(int argc, char **argv);

int attn_cli_main(int argc, char **argv)
{
    return main(argc, argv);
}
