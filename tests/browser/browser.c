/* browser.c - see browser.h. */
#include "tests/browser/browser.h"
#include "tests/support/assert.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_SECONDS = 60, MOST_COMPLAINTS = 4096 };

struct attn_browser {
    pid_t pid;
    int to, from; /* pipes */
    int next_id;
    char folder[64];  /* of its profile */
    char session[64]; /* of the page */
    char url[4096];   /* of what was loaded */
    char *message;    /* [size] what came and is not taken yet */
    size_t size, capacity;
    bool is_loaded;
    char complaints[MOST_COMPLAINTS];
};

/* --- The process ----------------------------------------------------------------------------- */

const char *attn_browser_find(void)
{
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    static char path[4096];
    const char *folders = getenv("PATH");

    if (getenv("CHROMIUM"))
        return getenv("CHROMIUM");
    for (size_t i = 0; folders && i < sizeof names / sizeof *names; i++)
        for (const char *at = folders; *at != '\0'; at += strcspn(at, ":"), at += *at == ':') {
            snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, names[i]);
            if (access(path, X_OK) == 0)
                return path;
        }
    return NULL;
}

/* In the child: the pipes become descriptors 3 and 4, and what it says is dropped. */
static void become_browser(int in, int out, const char *folder)
{
    char profile[128];
    const char *arguments[] = {attn_browser_find(),
                               "--headless=new",
                               "--remote-debugging-pipe",
                               "--disable-gpu",
                               "--no-first-run",
                               "--hide-scrollbars",
                               "--disable-background-networking",
                               "--disable-component-update",
                               "--disable-dev-shm-usage",
                               "--force-device-scale-factor=1",
                               "--force-color-profile=srgb",
                               profile,
                               geteuid() == 0 ? "--no-sandbox" : "--disable-sync",
                               "about:blank",
                               NULL};
    const int nothing = open("/dev/null", O_RDWR);

    snprintf(profile, sizeof profile, "--user-data-dir=%s", folder);
    in = fcntl(in, F_DUPFD, 10);
    out = fcntl(out, F_DUPFD, 10);
    dup2(in, 3);
    dup2(out, 4);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(nothing, 2);
    execv(arguments[0], (char *const *)(void *)arguments);
    _exit(127);
}

static void start(struct attn_browser *browser)
{
    int in[2], out[2];

    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0); /* it ends when its input does */
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    snprintf(browser->folder, sizeof browser->folder, "/tmp/attn-browser-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(browser->folder));
    browser->pid = fork();
    ck_assert_int_ge(browser->pid, 0);
    if (browser->pid == 0) {
        setpgid(0, 0);
        become_browser(in[0], out[1], browser->folder);
    }
    close(in[0]);
    close(out[1]);
    browser->to = in[1];
    browser->from = out[0];
}

/* --- Messages -------------------------------------------------------------------------------- */

static void complain(struct attn_browser *browser, const char *kind, const char *text)
{
    const size_t used = strlen(browser->complaints);

    snprintf(browser->complaints + used, sizeof browser->complaints - used, "%s: %s\n", kind, text);
}

static const char *text_at(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static const cJSON *find(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Whether a page may ask for URL: its own file, and what is in it. */
static bool is_own(const struct attn_browser *browser, const char *url)
{
    const size_t n = strlen(browser->url);

    return strncmp(url, "data:", 5) == 0 || strncmp(url, "blob:", 5) == 0 ||
           strncmp(url, "about:", 6) == 0 ||
           (strncmp(url, browser->url, n) == 0 && (url[n] == '\0' || url[n] == '#'));
}

static void take_event(struct attn_browser *browser, const cJSON *event)
{
    const char *method = text_at(event, "method");
    const cJSON *parameters = find(event, "params");

    if (strcmp(method, "Page.loadEventFired") == 0) {
        browser->is_loaded = true;
    } else if (strcmp(method, "Runtime.exceptionThrown") == 0) {
        const cJSON *details = find(parameters, "exceptionDetails");
        const char *text = text_at(find(details, "exception"), "description");

        complain(browser, "exception", *text ? text : text_at(details, "text"));
    } else if (strcmp(method, "Runtime.consoleAPICalled") == 0) {
        char *said = cJSON_PrintUnformatted(find(parameters, "args"));

        complain(browser, "console", said);
        free(said);
    } else if (strcmp(method, "Log.entryAdded") == 0) {
        const char *text = text_at(find(parameters, "entry"), "text");

        if (!strstr(text, "willReadFrequently")) /* said of the test's own reading */
            complain(browser, "log", text);
    } else if (strcmp(method, "Network.requestWillBeSent") == 0) {
        const char *url = text_at(find(parameters, "request"), "url");

        if (!is_own(browser, url))
            complain(browser, "request", url);
    }
}

/* The next message, which has come whole; the caller deletes it. */
static cJSON *receive(struct attn_browser *browser)
{
    char *end;
    cJSON *message;

    while (!(end = memchr(browser->message, '\0', browser->size))) {
        struct pollfd ready = {.fd = browser->from, .events = POLLIN};
        ssize_t n;

        if (browser->size + (1 << 16) > browser->capacity) {
            browser->capacity = 2 * browser->capacity + (1 << 17);
            browser->message = realloc(browser->message, browser->capacity);
            ck_assert_ptr_nonnull(browser->message);
        }
        ck_assert_msg(poll(&ready, 1, MOST_SECONDS * 1000) == 1, "the browser does not answer");
        n = read(browser->from, browser->message + browser->size, 1 << 16);
        ck_assert_msg(n > 0, "the browser went away");
        browser->size += (size_t)n;
    }
    message = cJSON_Parse(browser->message);
    ck_assert_ptr_nonnull(message);
    browser->size -= (size_t)(end + 1 - browser->message);
    memmove(browser->message, end + 1, browser->size);
    return message;
}

/* Sends METHOD with PARAMETERS, which it deletes, and returns the answer's `result`; the caller
 * deletes it. Events on the way are taken. */
static cJSON *call(struct attn_browser *browser, const char *method, cJSON *parameters)
{
    const int id = ++browser->next_id;
    cJSON *command = cJSON_CreateObject(), *answer, *result;
    char *text;
    size_t size, at = 0;

    cJSON_AddNumberToObject(command, "id", id);
    cJSON_AddStringToObject(command, "method", method);
    cJSON_AddItemToObject(command, "params", parameters ? parameters : cJSON_CreateObject());
    if (browser->session[0] != '\0' && strncmp(method, "Browser.", 8) != 0)
        cJSON_AddStringToObject(command, "sessionId", browser->session);
    text = cJSON_PrintUnformatted(command);
    size = strlen(text) + 1;
    while (at < size) {
        const ssize_t n = write(browser->to, text + at, size - at);

        ck_assert_msg(n > 0, "the browser does not listen");
        at += (size_t)n;
    }
    free(text);
    cJSON_Delete(command);
    for (;; cJSON_Delete(answer)) {
        const cJSON *of;

        answer = receive(browser);
        of = find(answer, "id");
        if (cJSON_IsNumber(of) && of->valueint == id)
            break;
        take_event(browser, answer);
    }
    ck_assert_msg(!find(answer, "error"), "%s: %s", method,
                  text_at(find(answer, "error"), "message"));
    result = cJSON_DetachItemFromObjectCaseSensitive(answer, "result");
    cJSON_Delete(answer);
    return result;
}

/* The same where the answer does not matter. PARAMETERS are JSON with ' in place of ". */
__attribute__((format(printf, 3, 4))) static void
tell(struct attn_browser *browser, const char *method, const char *parameters, ...)
{
    char text[8192];
    cJSON *parsed;
    va_list arguments;

    va_start(arguments, parameters);
    vsnprintf(text, sizeof text, parameters, arguments);
    va_end(arguments);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    parsed = cJSON_Parse(text);
    ck_assert_msg(parsed != NULL, "%s", text);
    cJSON_Delete(call(browser, method, parsed));
}

/* --- Open and close -------------------------------------------------------------------------- */

static cJSON *object_of(const char *name, const char *value)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, name, value);
    return object;
}

struct attn_browser *attn_browser_open(int width, int height)
{
    struct attn_browser *browser = calloc(1, sizeof *browser);
    cJSON *made, *parameters, *attached;

    ck_assert_ptr_nonnull(browser);
    signal(SIGPIPE, SIG_IGN);
    browser->capacity = 1 << 17;
    browser->message = malloc(browser->capacity);
    start(browser);
    made = call(browser, "Target.createTarget", object_of("url", "about:blank"));
    parameters = object_of("targetId", text_at(made, "targetId"));
    cJSON_AddBoolToObject(parameters, "flatten", true);
    attached = call(browser, "Target.attachToTarget", parameters);
    snprintf(browser->session, sizeof browser->session, "%s", text_at(attached, "sessionId"));
    cJSON_Delete(made);
    cJSON_Delete(attached);
    tell(browser, "Page.enable", "{}");
    tell(browser, "Runtime.enable", "{}");
    tell(browser, "Log.enable", "{}");
    tell(browser, "Network.enable", "{}");
    attn_browser_resize(browser, width, height);
    attn_browser_set_media(browser, "", "light");
    return browser;
}

void attn_browser_close(struct attn_browser *browser)
{
    char command[128];

    close(browser->to);
    close(browser->from);
    kill(-browser->pid, SIGTERM);
    for (int i = 0; i < 100 && waitpid(browser->pid, NULL, WNOHANG) == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (i == 98)
            kill(-browser->pid, SIGKILL);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", browser->folder);
    if (system(command) != 0)
        perror("rm");
    free(browser->message);
    free(browser);
}

void attn_browser_resize(struct attn_browser *browser, int width, int height)
{
    tell(browser, "Emulation.setDeviceMetricsOverride",
         "{'width':%d,'height':%d,'deviceScaleFactor':1,'mobile':false}", width, height);
    attn_browser_wait_for_frame(browser); /* the page hears of it when that begins, and draws */
}

void attn_browser_wait_for_frame(struct attn_browser *browser)
{
    free(attn_browser_text(
        browser, "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"));
}

void attn_browser_set_media(struct attn_browser *browser, const char *media, const char *scheme)
{
    tell(browser, "Emulation.setEmulatedMedia",
         "{'media':'%s','features':[{'name':'prefers-color-scheme','value':'%s'}]}", media, scheme);
}

void attn_browser_set_still(struct attn_browser *browser)
{
    tell(browser, "Emulation.setEmulatedMedia",
         "{'features':[{'name':'prefers-reduced-motion','value':'reduce'}]}");
}

void attn_browser_show_scrollbars(struct attn_browser *browser)
{
    tell(browser, "Emulation.setScrollbarsHidden", "{'hidden':false}");
}

void attn_browser_set_touch(struct attn_browser *browser)
{
    tell(browser, "Emulation.setTouchEmulationEnabled", "{'enabled':true}");
}

void attn_browser_set_script(struct attn_browser *browser, bool is_on)
{
    tell(browser, "Emulation.setScriptExecutionDisabled", "{'value':%s}", is_on ? "false" : "true");
}

void attn_browser_save_into(struct attn_browser *browser, const char *folder)
{
    tell(browser, "Browser.setDownloadBehavior", "{'behavior':'allow','downloadPath':'%s'}",
         folder);
}

/* Writes the data of the answer RESULT, which is freed, to the file PATH. */
static void save_data(cJSON *result, const char *path)
{
    char command[4200];
    FILE *pipe;

    snprintf(command, sizeof command, "base64 -d >'%s'", path);
    pipe = popen(command, "w");
    ck_assert_ptr_nonnull(pipe);
    fputs(text_at(result, "data"), pipe);
    ck_assert_int_eq(pclose(pipe), 0);
    cJSON_Delete(result);
}

void attn_browser_screenshot(struct attn_browser *browser, const char *path)
{
    save_data(call(browser, "Page.captureScreenshot", object_of("format", "png")), path);
}

void attn_browser_print(struct attn_browser *browser, const char *path)
{
    cJSON *paper = cJSON_CreateObject();

    cJSON_AddNumberToObject(paper, "paperWidth", 8.27); /* inches */
    cJSON_AddNumberToObject(paper, "paperHeight", 11.69);
    save_data(call(browser, "Page.printToPDF", paper), path);
}

/* --- The page -------------------------------------------------------------------------------- */

void attn_browser_load_plain(struct attn_browser *browser, const char *path)
{
    char folder[3000];

    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    snprintf(browser->url, sizeof browser->url, "file://%s/%s", folder, path);
    if (strchr(browser->url, '#'))
        *strchr(browser->url, '#') = '\0';
    cJSON_Delete(call(browser, "Page.navigate", object_of("url", "about:blank")));
    while (!browser->is_loaded) {
        cJSON *message = receive(browser);

        take_event(browser, message);
        cJSON_Delete(message);
    }
    browser->is_loaded = false;
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/%s", path);
    {
        char url[4096];

        snprintf(url, sizeof url, "file://%s", folder);
        cJSON_Delete(call(browser, "Page.navigate", object_of("url", url)));
    }
    while (!browser->is_loaded) {
        cJSON *message = receive(browser);

        take_event(browser, message);
        cJSON_Delete(message);
    }
    browser->is_loaded = false;
}

void attn_browser_load(struct attn_browser *browser, const char *path, const char *hash)
{
    char address[3000];

    snprintf(address, sizeof address, "%s%s%s", path, *hash ? "#" : "", hash);
    attn_browser_load_plain(browser, address);
    attn_browser_wait(browser, "document.documentElement.dataset.ready");
}

char *attn_browser_text(struct attn_browser *browser, const char *expression)
{
    cJSON *parameters = cJSON_CreateObject(), *result;
    const cJSON *value;
    const size_t size = strlen(expression) + 64;
    char *text, *whole = malloc(size);

    snprintf(whole, size, "(async () => String(await (%s)))()", expression);
    cJSON_AddStringToObject(parameters, "expression", whole);
    cJSON_AddBoolToObject(parameters, "awaitPromise", true);
    cJSON_AddBoolToObject(parameters, "returnByValue", true);
    result = call(browser, "Runtime.evaluate", parameters);
    value = find(find(result, "result"), "value");
    ck_assert_msg(cJSON_IsString(value), "%s: %s", expression,
                  text_at(find(find(result, "exceptionDetails"), "exception"), "description"));
    text = strdup(value->valuestring);
    cJSON_Delete(result);
    free(whole);
    return text;
}

double attn_browser_number(struct attn_browser *browser, const char *expression)
{
    char *text = attn_browser_text(browser, expression), *end;
    const double number = strtod(text, &end);

    ck_assert_msg(end != text && *end == '\0', "%s is '%s', no number", expression, text);
    free(text);
    return number;
}

void attn_browser_wait(struct attn_browser *browser, const char *expression)
{
    char whole[2048];

    snprintf(whole, sizeof whole, "Boolean(%s)", expression);
    for (int i = 0; i < 3000; i++) {
        char *text = attn_browser_text(browser, whole);
        const bool is_true = strcmp(text, "true") == 0;

        free(text);
        if (is_true)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    ck_abort_msg("not within a minute: %s\n%s", expression, browser->complaints);
}

/* --- Keys and mouse -------------------------------------------------------------------------- */

void attn_browser_key(struct attn_browser *browser, const char *key, int modifiers)
{
    cJSON *down = object_of("type", "keyDown"), *up = object_of("type", "keyUp");

    cJSON_AddStringToObject(down, "key", key);
    cJSON_AddStringToObject(up, "key", key);
    cJSON_AddNumberToObject(down, "modifiers", modifiers);
    cJSON_AddNumberToObject(up, "modifiers", modifiers);
    if (strlen(key) == 1)
        cJSON_AddStringToObject(down, "text", key);
    cJSON_Delete(call(browser, "Input.dispatchKeyEvent", down));
    cJSON_Delete(call(browser, "Input.dispatchKeyEvent", up));
}

void attn_browser_point(struct attn_browser *browser, double x, double y)
{
    tell(browser, "Input.dispatchMouseEvent", "{'type':'mouseMoved','x':%.2f,'y':%.2f}", x, y);
}

void attn_browser_click(struct attn_browser *browser, double x, double y)
{
    attn_browser_point(browser, x, y);
    for (int i = 0; i < 2; i++)
        tell(browser, "Input.dispatchMouseEvent",
             "{'type':'%s','x':%.2f,'y':%.2f,'button':'left','clickCount':1}",
             i == 0 ? "mousePressed" : "mouseReleased", x, y);
}

void attn_browser_choose(struct attn_browser *browser, const char *selector,
                         const char *const *paths, size_t n)
{
    cJSON *parameters = cJSON_CreateObject(), *found;
    char expression[256];

    snprintf(expression, sizeof expression, "document.querySelector(\"%s\")", selector);
    found = call(browser, "Runtime.evaluate", object_of("expression", expression));
    cJSON_AddStringToObject(parameters, "objectId", text_at(find(found, "result"), "objectId"));
    cJSON_AddItemToObject(parameters, "files", cJSON_CreateStringArray(paths, (int)n));
    cJSON_Delete(call(browser, "DOM.setFileInputFiles", parameters));
    cJSON_Delete(found);
}

static void find_middle(struct attn_browser *browser, const char *selector, double *x, double *y)
{
    char expression[1024], *text;

    snprintf(
        expression, sizeof expression,
        "(() => { const e = document.querySelector(\"%s\"); e.scrollIntoView({block: "
        "'nearest', inline: 'nearest'}); const r = e.getClientRects()[0]; return [r.x + r.width "
        "/ 2, r.y + r.height / 2].join(' '); })()",
        selector);
    text = attn_browser_text(browser, expression);
    ck_assert_msg(sscanf(text, "%lf %lf", x, y) == 2, "%s is not there", selector);
    free(text);
}

void attn_browser_point_at(struct attn_browser *browser, const char *selector)
{
    double x, y;

    find_middle(browser, selector, &x, &y);
    attn_browser_point(browser, x, y);
}

void attn_browser_click_on(struct attn_browser *browser, const char *selector)
{
    double x, y;

    find_middle(browser, selector, &x, &y);
    attn_browser_click(browser, x, y);
}

/* --- Complaints ------------------------------------------------------------------------------ */

void attn_browser_assert_quiet(struct attn_browser *browser)
{
    char *text = attn_browser_text(browser, "0"); /* events before it have come now */

    free(text);
    ck_assert_msg(browser->complaints[0] == '\0', "%s", browser->complaints);
}

void attn_browser_forgive(struct attn_browser *browser)
{
    browser->complaints[0] = '\0';
}

void attn_browser_assert_text(struct attn_browser *browser, const char *expression,
                              const char *expected)
{
    char *text = attn_browser_text(browser, expression);

    ck_assert_msg(strcmp(text, expected) == 0, "%s is '%s', expected '%s'", expression, text,
                  expected);
    free(text);
}

void attn_browser_leave(struct attn_browser *browser)
{
    attn_browser_assert_quiet(browser);
    attn_browser_close(browser);
    ck_assert_int_eq(system("rm -rf -- *"), 0);
    attn_folder_leave();
}
