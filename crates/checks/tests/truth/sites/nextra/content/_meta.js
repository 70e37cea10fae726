export default {
  index: 'Home',
  guide: 'Guide',
  api: 'Api',
}
