// What eslint reports in the modules of the inspector's page: names that are not imported, not
// used, or hidden, and what hides a mistake.
const browser = [
  "AbortController Blob Element Event HTMLElement MutationObserver Node ResizeObserver Response TextDecoderStream",
  "TextEncoder URL URLSearchParams Uint8Array addEventListener atob btoa clearTimeout confirm",
  "console document fetch getSelection history innerWidth localStorage location matchMedia navigator performance",
  "reportError",
  "queueMicrotask removeEventListener requestAnimationFrame sessionStorage setInterval setTimeout window",
];

export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: Object.fromEntries(browser.flatMap((line) => line.split(" ")).map((n) => [n, false])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 70],
      "no-console": "error",
      "no-dupe-keys": "error",
      "no-eval": "error",
      "no-fallthrough": "error",
      "no-implicit-globals": "error",
      "no-import-assign": "error",
      "no-redeclare": "error",
      "no-self-assign": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-expressions": ["error", { allowShortCircuit: true }],
      "no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "no-use-before-define": ["error", { functions: false, variables: false, classes: false }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
