/* The program of the app: Python itself, which runs what is appended to this file.
 *
 * A native app must be a program of the machine and may start no other one, so Python is linked in, not started. The
 * standard library, grpcio and the app are a zip at the end of the file; see build.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <stdlib.h>

int main(int count, char **words)
{
    char file[PATH_MAX];
    (void)count;
    if (realpath(words[0], file) == NULL) {
        perror(words[0]);
        return 1;
    }
    PyConfig config;
    /* Nothing of the machine's Python is used: neither its variables nor its folders. */
    PyConfig_InitIsolatedConfig(&config);
    wchar_t *path = Py_DecodeLocale(file, NULL);
    if (path == NULL)
        return 1;
    config.module_search_paths_set = 1;
    config.write_bytecode = 0;
    PyStatus status = PyWideStringList_Append(&config.module_search_paths, path);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetString(&config, &config.program_name, path);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetString(&config, &config.home, path);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetString(&config, &config.run_module, L"start");
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    return Py_RunMain();
}
