module.exports = {
  main: [
    'home',
    { type: 'category', label: 'Guide', link: { type: 'generated-index', slug: '/made' }, items: ['guide/start', 'guide/own-id', 'numbered/first'] },
  ],
}
