// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.deadline.DeadlineSuite;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Deadlines of all calls that take them, over examples of the kit, or golden vectors. */
final class DeadlineChecks {
  private static final int SOME = 4;

  private DeadlineChecks() {}

  static void run(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    List<Example> all = examples(subject);
    if (all.isEmpty()) {
      findings.skip("deadlines", "the device takes none of the kit's operations");
      return;
    }
    List<Example> examples = Probes.some(all, Math.max(1, subject.settings().random));
    subject.onDeadlines().add(examples.size());
    try (QueueBurstService bursts = new QueueBurstService()) {
      new DeadlineSuite(subject.device(), bursts, examples, Probes.some(all, SOME))
          .run()
          .forEach(findings::add);
    }
  }

  private static List<Example> examples(Subject subject) throws IOException, VectorFormatException {
    if (subject.settings().vectors.isEmpty()) {
      return subject.singles();
    }
    List<Example> examples = new ArrayList<>();
    for (Path file : VectorSuite.of(subject.settings().vectors.get()).files()) {
      for (Example example : VectorFile.read(file).examples()) {
        if (!example.expectFailure() && Probes.takes(subject.device(), example)) {
          examples.add(example);
        }
      }
    }
    return examples;
  }
}
