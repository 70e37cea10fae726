// What Mintlify's own checker finds broken in a folder, one a line: the file and the target, with a tab between.
// Usage: node truth-mintlify.mjs PACKAGES FOLDER, where PACKAGES holds node_modules with @mintlify/link-rot.
import { pathToFileURL } from 'node:url'

const [packages, folder] = process.argv.slice(2)
const file = `${packages}/node_modules/@mintlify/link-rot/dist/static-checking/getBrokenInternalLinks.js`
const { getBrokenInternalLinks } = await import(pathToFileURL(file))
for (const broken of await getBrokenInternalLinks(folder, { checkAnchors: true })) {
  const path = broken.relativeDir ? `${broken.relativeDir}/${broken.filename}` : broken.filename
  console.log(`${path.replace(/^\.\//, '')}\t${broken.originalPath}`)
}
