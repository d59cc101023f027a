/* Hands the generated parser to Python as the capsule that `tree_sitter.Language` takes. */

#include <Python.h>

typedef struct TSLanguage TSLanguage;

const TSLanguage *tree_sitter_phobos(void);

static PyObject *language(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    return PyCapsule_New((void *)tree_sitter_phobos(), "tree_sitter.Language", NULL);
}

static PyMethodDef methods[] = {
    {"language", language, METH_NOARGS, "A capsule for tree_sitter.Language."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_binding",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__binding(void) { return PyModuleDef_Init(&module); }
