/**
 * Imports name the files that the compiler writes, `.js`, and the tests load the sources. Jest remembers what a resolver finds,
 * but not what its `moduleNameMapper` finds: that cost 10 ms for each test file that loads the package.
 */
module.exports = (path, options) =>
  options.defaultResolver(path.replace(/^(\.{1,2}\/.*)\.js$/, '$1'), options)
