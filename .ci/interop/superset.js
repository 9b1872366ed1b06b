// Opens the dashboard in a real Superset with Chromium and holds every number that its charts are
// given to the views.
//   node superset.js SPENDSYNC URL SCREENSHOT
import { asker, startBrowser } from './browser.js'

const [spendsync, url, screenshot] = process.argv.slice(2)

const query = asker(spendsync)

// What each chart must show, by the columns that it asks for.
const charts = {
  spend: 'SELECT report_date::VARCHAR AS day, campaign_name, sum(spend)::DOUBLE AS spend FROM spend GROUP BY ALL',
  cpa: `SELECT report_date::VARCHAR AS day, 'cpa_expected' AS name, sum(spend)::DOUBLE / nullif(CASE WHEN count(conversions_expected) = count(*) THEN sum(conversions_expected) END, 0) AS cpa
    FROM spend GROUP BY ALL`,
  campaigns: 'SELECT campaign_name, campaign_status, spend::DOUBLE AS spend, conversions, cpa, target_cpa::DOUBLE AS target_cpa, verdict FROM mart.campaign_performance',
  sources: `SELECT source_id, campaign_name, spend::DOUBLE AS spend, clicks, conversions, cpa, cpa_best_case, cpa_worst_case, list_rule
    FROM mart.source_performance ORDER BY mart.source_performance.spend DESC LIMIT 200`,
  money: 'SELECT account_id, balance::DOUBLE AS balance, balance_status, mean_daily_spend, days_until_stop, action FROM mart.budget_runway',
  coverage: 'SELECT report_date::VARCHAR AS report_date, state_now, rows, spend::DOUBLE AS spend, days_until_unreachable, what_to_do FROM mart.coverage',
}

function chartOf(result, form) {
  if (form.viz_type === 'echarts_timeseries_bar') return 'spend'
  if (form.viz_type === 'echarts_timeseries_line') return 'cpa'
  if (result.colnames.includes('verdict')) return 'campaigns'
  if (result.colnames.includes('cpa_best_case')) return 'sources'
  if (result.colnames.includes('days_until_stop')) return 'money'
  return 'coverage'
}

// cell spells a value so that equal ones are equal: numbers to nine digits, days as days.
function cell(name, value) {
  if (value === null || value === undefined) return ''
  if (name === 'report_date' && typeof value === 'number') return new Date(value).toISOString().slice(0, 10)
  return typeof value === 'number' ? value.toPrecision(9) : String(value)
}

// lines are the rows of an answer as texts, sorted; a series of a chart has a column of its own.
function lines(name, rows) {
  if (name !== 'spend' && name !== 'cpa') return rows.map(r => Object.entries(r).map(([k, v]) => cell(k, v)).join('|')).sort()
  if (rows.length && 'day' in rows[0]) return rows.map(r => Object.values(r)).filter(v => v[2] !== null).map(v => [v[0], v[1], cell('', v[2])].join('|')).sort()
  return rows.flatMap(r => Object.entries(r).filter(([k, v]) => k !== 'report_date' && v !== null)
    .map(([k, v]) => [cell('report_date', r.report_date), k, cell('', v)].join('|'))).sort()
}

const browser = await startBrowser()
const page = await browser.newPage({ viewport: { width: 1500, height: 2900 } })
page.setDefaultTimeout(180_000)
const answers = {}
page.on('response', async response => {
  if (!response.url().includes('/api/v1/chart/data')) return
  const body = await response.json()
  if (!body.result) throw new Error(`${response.status()}: ${JSON.stringify(body).slice(0, 500)}`)
  const name = chartOf(body.result[0], response.request().postDataJSON().form_data)
  answers[name] = body.result[0].data
})
// What the login page logs without a session would otherwise end the session of the login.
await page.route('**/superset/log/**', route => route.abort())
await page.goto(`${url}/login/`)
await page.fill('input[name=username], #username', 'admin')
await page.fill('input[name=password], #password', 'admin')
await page.keyboard.press('Enter')
await page.waitForURL(u => u.pathname.startsWith('/superset/welcome'))
await page.goto(`${url}/superset/dashboard/spendsync/?standalone=1`)
const end = Date.now() + 240_000
while (Object.keys(answers).length < Object.keys(charts).length && Date.now() < end) await page.waitForTimeout(500)
await page.waitForTimeout(4000) // until they are drawn
await page.screenshot({ path: screenshot })
await browser.close()

let wrong = 0
for (const [name, sql] of Object.entries(charts)) {
  const want = lines(name, query(sql)), got = lines(name, answers[name] ?? [])
  if (want.length === 0 || want.join('\n') !== got.join('\n')) {
    wrong++
    console.error(`${name}: Superset has ${got.length} values, the view ${want.length}:`, got.filter(l => !want.includes(l)).slice(0, 3), want.filter(l => !got.includes(l)).slice(0, 3))
  }
}
if (wrong > 0) process.exit(1)
console.log(`Superset shows what the views say: ${Object.keys(charts).map(n => `${n} ${answers[n].length} rows`).join(', ')}`)
