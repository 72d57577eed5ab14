// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.tck.certify.Finding;
import io.thalamus.vectors.Outcome;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The kit finds what is wrong with a device, and keeps its lists of exceptions true. */
class CertificationTest {
  private static final int GRAPHS = 100;

  /** Of all checks, without exceptions. */
  private static CertificationReport plain;

  @BeforeAll
  static void runAll() throws Exception {
    plain = run(Exceptions.NONE);
  }

  private static CertificationReport run(Exceptions exceptions) throws Exception {
    return Certification.of(new WrongDevice())
        .withReference(new CpuDevice("1.0.0"))
        .withRandom(GRAPHS, 1)
        .with(exceptions)
        .run(group -> {});
  }

  @Test
  void wrongResultsAreFoundByEveryGroupThatComparesThem() {
    CertificationReport report = plain;
    Map<String, CertificationReport.Count> groups = report.groups();
    for (String group : new String[] {"operations", "quantization", "graphs"}) {
      assertTrue(groups.get(group).failed() > 0, report::text);
    }
    assertTrue(
        report.failures().stream()
            .filter(failure -> failure.group().equals("operations"))
            .allMatch(failure -> failure.name().startsWith("add_")),
        report::text);
    for (String group : new String[] {"facts", "validation", "concurrency", "life cycle"}) {
      assertEquals(0, groups.get(group).failed(), report::text);
    }
    assertEquals(report.total().text(), report.text().lines().reduce((a, b) -> b).orElseThrow());
  }

  @Test
  void exceptionsExcuseAndANotYetThatPassesFails() throws Exception {
    Exceptions exceptions = Exceptions.NONE.andNotYet("facts/name", "the name is being chosen");
    for (Finding failure : plain.failures()) {
      exceptions = exceptions.andNever(failure.id(), "it loses signs");
    }
    CertificationReport report = run(exceptions);
    assertEquals(1, report.failures().size(), report::text);
    assertEquals("facts/name", report.failures().getFirst().id());
    Map<String, Integer> reasons =
        Outcome.skipReasons(report.findings().stream().map(Finding::outcome));
    assertTrue(reasons.containsKey("never: it loses signs"), report::text);
  }
}
