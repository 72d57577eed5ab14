// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.coupling.CouplingReport;
import io.thalamus.tck.coupling.CouplingSuite;
import io.thalamus.tck.graph.GraphCheck;
import io.thalamus.tck.graph.GraphReport;
import io.thalamus.tck.graph.GraphSuite;
import io.thalamus.tck.mutation.MutationFamily;
import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.tck.mutation.RequestFamily;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.SuiteReport;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.util.List;

/** Right results of a device, and refusals of what is invalid. */
final class OperationChecks {
  private OperationChecks() {}

  /** Conformance vectors by both ways to execute, where they are; else the kit's own examples. */
  static void operations(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    operations(
        subject, subject.device(), List.of(RunOptions.Mode.SYNC, RunOptions.Mode.FENCED), findings);
  }

  /** The same on the device as it is decorated. */
  static void operations(
      Subject subject, Device device, List<RunOptions.Mode> modes, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    if (subject.settings().vectors.isEmpty()) {
      GraphCheck check = new GraphCheck(device);
      subject.singles().forEach(example -> findings.add(example.name(), check.run(example)));
      return;
    }
    for (RunOptions.Mode mode : modes) {
      SuiteReport report =
          VectorSuite.of(subject.settings().vectors.get())
              .run(
                  new DeviceTarget(device),
                  RunOptions.DEFAULT.with(mode),
                  VectorSuite.Listener.NONE);
      for (SuiteReport.Result result : report.results()) {
        findings.add(result.file() + " " + result.example() + " " + mode, result.outcome());
      }
    }
  }

  /** Mutated models and requests, one of each family for each example. */
  static void validation(Subject subject, Findings findings) throws InterruptedException {
    MutationReport report =
        MutationSuite.all(subject.device()).sampled(1, subject.seed()).run(subject.singles());
    for (MutationFamily family : MutationFamily.values()) {
      if (report.tried(family) == 0) {
        // Order and writers need one operation that reads what another writes.
        findings.skip(family.aospName(), "no example of one operation has a place for it");
      } else {
        findings.check(
            family.aospName(),
            report.count(family, Layer.NOBODY) == 0,
            accepted(report, family.aospName()));
      }
    }
    for (RequestFamily family : RequestFamily.values()) {
      String accepted = accepted(report, family.aospName());
      findings.check("request " + family.aospName(), accepted.isEmpty(), accepted);
    }
  }

  private static String accepted(MutationReport report, String family) {
    return report.accepted().stream()
        .filter(accepted -> accepted.family().equals(family))
        .map(MutationReport.Accepted::text)
        .findFirst()
        .orElse("");
  }

  /** Both quantized types alike, and equal to the reference where that is claimed. */
  static void quantization(Subject subject, Findings findings) throws InterruptedException {
    CouplingReport report = new CouplingSuite(subject.device()).run(subject.singles());
    for (CouplingReport.Pair pair : report.pairs()) {
      if (!(pair.outcome() instanceof Outcome.Skipped)) {
        findings.add("coupled " + pair.example(), pair.outcome());
      }
    }
    if (!subject.device().info().exactQuantized()) {
      findings.skip("exact", "the device does not claim exact quantized results");
      return;
    }
    if (subject.settings().reference.isEmpty()) {
      findings.skip("exact", "there is no other device with exact quantized results beside it");
      return;
    }
    Device reference = subject.settings().reference.get();
    for (Example example : subject.singles()) {
      if (isQuantized(example)) {
        findings.run(
            "exact " + example.name(),
            () ->
                Expect.equal(
                    Probes.outputs(reference, example),
                    Probes.outputs(subject.device(), example),
                    "the results are not those of " + reference.info().name()));
      }
    }
  }

  private static boolean isQuantized(Example example) {
    return example.main().outputIndexes().stream()
        .allMatch(index -> example.main().operands().get(index).type().contains("_QUANT"));
  }

  /** Random graphs by seed, within their bounds. */
  static void graphs(Subject subject, Findings findings) throws InterruptedException {
    if (subject.singles().isEmpty()) {
      findings.skip("graphs", "the device takes none of the kit's operations");
      return;
    }
    GraphReport report =
        GraphSuite.of(subject.device()).run(subject.settings().random, subject.seed());
    // Every graph has the same name however it ends, as lists of exceptions name it.
    for (GraphReport.Result result : report.results()) {
      findings.add(
          "seed " + result.seed(),
          result.outcome() instanceof Outcome.Failed
              ? new Outcome.Failed(result.text())
              : result.outcome());
    }
  }
}
