import { expect, test } from "vitest";
import { withMagic } from "../src/lab/magic";

test.each([
  ["pickle.dumps(x)", "%%serprof\npickle.dumps(x)"],
  ["%%time\nf()", "%%serprof\n%%time\nf()"],
  ["%%serprof --save a.html\nf()", "%%serprof --save a.html\nf()"],
  ["%%graphstages -o t --save a.html\nf()", "%%serprof -o t --save a.html\nf()"],
  ["\n%%graphstages\nf()", "\n%%serprof\nf()"],
  ["%serprof --save a.html f()", "%serprof --save a.html f()"],
  ["x = 1\n  %graphstages x", "x = 1\n  %graphstages x"],
  ["%%time\n%%serprof\nf()", "%%time\n%%serprof\nf()"],
  ["# %serprof f()\nf()", "%%serprof\n# %serprof f()\nf()"],
  ["x = 5 %serprofs", "%%serprof\nx = 5 %serprofs"],
  ["%serprofile()", "%%serprof\n%serprofile()"],
])("%j is profiled as %j", (source, expected) => {
  expect(withMagic(source, "%%serprof")).toBe(expected);
});
