// Mintlify and others that run any script of the docs folder on every page: put this file into it.
const script = document.createElement('script')
script.src = 'https://copydesk.example.com/js/view.js'
script.dataset.project = 'docs'
document.head.append(script)
