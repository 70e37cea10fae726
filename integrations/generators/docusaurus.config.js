// Docusaurus, in docusaurus.config.js beside what is there. Its plugin for Plausible works too: see docs/page-views.md.
module.exports = {
  scripts: [{ src: 'https://copydesk.example.com/js/view.js', defer: true, 'data-project': 'docs' }],
}
