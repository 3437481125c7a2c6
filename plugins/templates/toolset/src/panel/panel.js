// The panel: a search field, and what the tool finds. It runs in a frame that reaches nothing but the page around it.
import { connectPanel } from '../../panel.js'

class Panel extends HTMLElement {
  panel = connectPanel()
  query = Object.assign(document.createElement('input'), { type: 'search', ariaLabel: 'Words to search for' })
  results = document.createElement('table')
  notice = Object.assign(document.createElement('p'), { role: 'alert' })

  connectedCallback() {
    const form = document.createElement('form')
    const button = Object.assign(document.createElement('button'), { className: 'primary', textContent: 'Search' })
    form.append(this.query, ' ', button)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.search()
    })
    this.append(form, this.notice, this.results)
  }

  async search() {
    this.notice.textContent = ''
    try {
      const found = await this.panel.invoke('plugin_name_search', { query: this.query.value, limit: 20 })
      this.results.replaceChildren()
      // What a service returns is shown as text, never as HTML.
      for (const { title, summary } of found) {
        const row = this.results.insertRow()
        row.insertCell().textContent = title
        row.insertCell().textContent = summary
      }
      if (found.length === 0) this.notice.textContent = 'Nothing was found.'
    } catch (error) {
      this.notice.textContent = error.message
    }
  }
}

customElements.define('plugin-name-panel', Panel)
