// The panel: the newest webhooks of the shop. It runs in a frame that reaches nothing but the page around it.
import { connectPanel } from '../../panel.js'

class Panel extends HTMLElement {
  panel = connectPanel()
  requests = document.createElement('table')
  notice = Object.assign(document.createElement('p'), { role: 'alert' })

  connectedCallback() {
    const reload = Object.assign(document.createElement('button'), { textContent: 'Reload' })
    reload.addEventListener('click', () => void this.load())
    this.append(reload, this.notice, this.requests)
    void this.load()
  }

  async load() {
    this.notice.textContent = ''
    try {
      const { items } = await this.panel.read('/api/requests', { query: { hook: 'plugin-name', limit: '50' } })
      this.requests.replaceChildren(...items.map((item) => this.row(item)))
      if (items.length === 0) this.notice.textContent = 'No webhook has come in yet.'
    } catch (error) {
      this.notice.textContent = error.message
    }
  }

  row({ id, at, status }) {
    const row = document.createElement('tr')
    row.insertCell().textContent = new Date(at).toLocaleString()
    row.insertCell().textContent = status
    const open = Object.assign(document.createElement('button'), { textContent: 'Open' })
    open.addEventListener('click', () => this.panel.go(`#/requests/${encodeURIComponent(id)}`))
    row.insertCell().append(open)
    return row
  }
}

customElements.define('plugin-name-panel', Panel)
