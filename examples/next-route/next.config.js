// In a bundle of Next.js, an inbox in a file cannot load SQLite.
export default { serverExternalPackages: ['countersign'] }
