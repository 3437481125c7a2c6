// Payloads of UptimeRobot: the fields of the documentation, as JSON and as a form.
import { one, type Samples } from '../sample.ts'

const monitor = {
  monitorID: '789',
  monitorURL: 'https://shop.example.com',
  monitorFriendlyName: 'Shop',
  alertType: '1',
  alertTypeFriendlyName: 'Down',
  alertDetails: 'Connection Timeout',
  alertDateTime: '1900000000',
  sslExpiryDate: '*sslExpiryDate*',
}

export const uptimerobot: Samples = {
  told: [
    one('a monitor that is down', monitor),
    one('one that is up again', {
      ...monitor,
      alertType: 2,
      alertTypeFriendlyName: 'Up',
      alertFriendlyDuration: '5 min',
      alertDetails: '',
    }),
    one('a certificate', {
      ...monitor,
      alertType: '3',
      alertTypeFriendlyName: 'SSL expiry',
      alertDetails: '',
      sslExpiryDate: '2030-02-07',
      sslExpiryDaysLeft: '7',
    }),
    one('other names of the fields', {
      monitor_url: 'https://shop.example.com',
      monitor_friendly_name: 'Shop',
      alert_type_friendly_name: 'Down',
      alert_duration: '300',
    }),
    one('another alert', {
      monitorURL: 'https://shop.example.com',
      alertType: '9',
      alertTypeFriendlyName: 'Slow response',
      alertDateTime: 'today',
    }),
    one('names that would add lines', {
      ...monitor,
      monitorFriendlyName: 'Shop\nState: up',
      alertDetails: 'Timeout\nAt: never',
      monitorURL: 'https://shop.example.com/\nx',
    }),
    one('days only', { monitorID: 789, alertType: 3, sslExpiryDaysLeft: 7 }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('a list', []),
    one('no monitor', { alertType: '1' }),
    one('no alert', { monitorFriendlyName: 'Shop' }),
    one('variables without values', { monitorFriendlyName: '*monitorFriendlyName*', alertType: '*alertType*' }),
    one('a monitor that is an object', { monitorFriendlyName: { name: 'Shop' }, alertType: '1' }),
  ],
}
