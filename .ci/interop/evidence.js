// Opens the pages of the Evidence site with Chromium and holds what its tables show to the views.
//   node evidence.js SPENDSYNC URL SCREENSHOT
import { asker, startBrowser } from './browser.js'

const [spendsync, url, screenshot] = process.argv.slice(2)

const query = asker(spendsync)

const dollars = v => v === null ? '-' : '$' + Number(v).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const whole = v => v === null ? '-' : Number(v).toLocaleString('en-US')

// The first table of each page: the rows of its first screen, as it must show them.
const pages = {
  '/': query(`SELECT campaign_id, spend::DOUBLE AS spend, conversions, cpa, verdict FROM mart.campaign_performance
      WHERE mart.campaign_performance.spend > 0 ORDER BY excess_spend DESC NULLS LAST, mart.campaign_performance.spend DESC, campaign_id LIMIT 25`)
    .map(r => [r.campaign_id, dollars(r.spend), whole(r.conversions), dollars(r.cpa), r.verdict]),
  '/sources': query(`SELECT source_id, campaign_id, spend::DOUBLE AS spend, excess_spend::DOUBLE AS excess_spend FROM mart.source_block_candidates
      ORDER BY mart.source_block_candidates.excess_spend DESC NULLS LAST, campaign_id, source_id LIMIT 25`)
    .map(r => [r.source_id, r.campaign_id, dollars(r.spend), dollars(r.excess_spend)]),
  '/money': query('SELECT account_id, balance::DOUBLE AS balance, balance_status, action FROM mart.budget_runway')
    .map(r => [r.account_id, dollars(r.balance), r.balance_status, r.action ?? '-']),
}

const browser = await startBrowser()
const page = await browser.newPage({ viewport: { width: 1400, height: 2200 } })
page.setDefaultTimeout(30_000)
for (const [path, want] of Object.entries(pages)) {
  await page.goto(url + path)
  await page.locator('table tr td:visible', { hasText: want.at(-1)[0] }).first().waitFor()
  const rows = await page.locator('table:visible').first().evaluate(t => [...t.querySelectorAll('tr')].filter(r => r.querySelector('td')).map(r => [...r.querySelectorAll('td')].map(c => c.innerText.trim())))
  await page.screenshot({ path: screenshot.replace('.png', `${path.replace('/', '-')}.png`) })
  want.forEach((cells, i) => {
    for (const cell of cells) if (!rows[i]?.includes(cell)) throw new Error(`${path}, row ${i + 1}: ${JSON.stringify(rows[i])} lacks ${JSON.stringify(cell)} of ${JSON.stringify(cells)}`)
  })
  console.log(`Evidence's ${path} shows the ${want.length} rows of its view`)
}
await browser.close()
