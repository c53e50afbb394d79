/* Sphinx counts one word of a title as much as all of them; the page that has them all comes first. */
var Scorer = {
  score: ([, title, , , score]) => {
    const asked = new URLSearchParams(location.search).get("q") ?? "";
    const words = asked.toLowerCase().split(/[^\w]+/).filter(Boolean);
    const found = words.filter((word) => title.toLowerCase().includes(word));
    return score + 10 * found.length;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
