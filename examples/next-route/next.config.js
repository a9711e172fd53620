// In a bundle of Next.js, an inbox in a file cannot load SQLite on Node 20.
export default { serverExternalPackages: ['countersign'] }
