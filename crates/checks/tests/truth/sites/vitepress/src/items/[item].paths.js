export default {
  paths() {
    return ['one', 'two'].map((item) => ({ params: { item } }))
  },
}
