/** Where this module is, for `createRequire`. In the ES modules of the package the build replaces it: see .ci/build.mjs. */
export function ownLocation(): string {
  return __filename
}
