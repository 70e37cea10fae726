// VitePress, in .vitepress/config.mjs beside what is there.
export default {
  head: [['script', { defer: '', 'data-project': 'docs', src: 'https://copydesk.example.com/js/view.js' }]],
}
