// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.tck.certify.Finding;
import io.thalamus.vectors.Outcome;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The kit finds what is wrong with a device, and keeps its lists of exceptions true. */
@Order(2)
class CertificationTest {
  private static final int GRAPHS = 100;
  private static final String REASON = "it loses signs";

  /** Some of the checks that fail, of several groups; the others stay failures. */
  private static final List<String> EXCUSED =
      List.of("operations/add_tensor_float32_81", "graphs/seed 9", "fences/a chain");

  /** The report of all checks: one run tells the wrong results and what exceptions make of them. */
  private static CertificationReport report;

  @BeforeAll
  static void runAll() throws Exception {
    Exceptions exceptions = Exceptions.NONE.andNotYet("facts/name", "the name is being chosen");
    for (String id : EXCUSED) {
      exceptions = exceptions.andNever(id, REASON);
    }
    report =
        Certification.of(new WrongDevice())
            .withReference(new CpuDevice("1.0.0"))
            .withRandom(GRAPHS, 1)
            .with(exceptions)
            .run(group -> {});
  }

  @Test
  void wrongResultsAreFoundByEveryGroupThatComparesThem() {
    Map<String, CertificationReport.Count> groups = report.groups();
    for (String group : new String[] {"operations", "quantization", "graphs"}) {
      assertTrue(groups.get(group).failed() > 0, report::text);
    }
    assertTrue(
        report.failures().stream()
            .filter(failure -> failure.group().equals("operations"))
            .allMatch(failure -> failure.name().startsWith("add_")),
        report::text);
    for (String group : new String[] {"validation", "concurrency", "life cycle"}) {
      assertEquals(0, groups.get(group).failed(), report::text);
    }
    assertEquals(report.total().text(), report.text().lines().reduce((a, b) -> b).orElseThrow());
  }

  @Test
  void exceptionsExcuseWhatTheyNameAndANotYetThatPassesFails() {
    assertEquals(
        List.of("facts/name"),
        report.failures().stream()
            .filter(failure -> failure.group().equals("facts"))
            .map(Finding::id)
            .toList(),
        report::text);
    assertEquals(
        EXCUSED,
        report.findings().stream()
            .filter(finding -> finding.outcome().equals(new Outcome.Skipped("never: " + REASON)))
            .map(Finding::id)
            .toList(),
        report::text);
  }
}
