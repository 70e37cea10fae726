export const guide = '/guide/'

export const nav = [
  { text: 'L80', link: guide },
]
