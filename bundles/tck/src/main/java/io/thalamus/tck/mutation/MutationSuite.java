// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;

/**
 * Mutates many examples, and requests to execute them, in all ways or in some, and tries them on a
 * device. Immutable. Its threads end with the run.
 *
 * @param device that must refuse
 * @param perFamily how many mutations of each family are tried for each example, at most
 * @param seed picks them where there are more
 * @param threads how many examples are tried at the same time
 */
public record MutationSuite(Device device, int perFamily, long seed, int threads) {
  public MutationSuite {
    Objects.requireNonNull(device, "device");
    if (perFamily < 1 || threads < 1) {
      throw new IllegalArgumentException(
          "perFamily " + perFamily + " and threads " + threads + " must be positive");
    }
  }

  /** All mutations, in as many threads as there are processors. */
  public static MutationSuite all(Device device) {
    return new MutationSuite(
        device, Integer.MAX_VALUE, 0, Runtime.getRuntime().availableProcessors());
  }

  /** Some mutations of each family for each example, picked by a seed. */
  public MutationSuite sampled(int count, long newSeed) {
    return new MutationSuite(device, count, newSeed, threads);
  }

  /**
   * Mutates the examples of a file, or of all files below a folder: those that AOSP would take, and
   * that the device supports.
   *
   * @throws IOException where a file cannot be read
   * @throws VectorFormatException where one is damaged
   * @throws InterruptedException where the calling thread was interrupted
   */
  public MutationReport run(Path root)
      throws IOException, VectorFormatException, InterruptedException {
    List<Source> sources = new ArrayList<>();
    for (Path file : VectorSuite.of(root).files()) {
      for (Example example : VectorFile.read(file).examples()) {
        sources.add(new Source(file.getParent().getFileName() + "/" + file.getFileName(), example));
      }
    }
    return runAll(sources);
  }

  /**
   * Mutates these examples.
   *
   * @throws InterruptedException where the calling thread was interrupted
   */
  public MutationReport run(List<Example> examples) throws InterruptedException {
    return runAll(examples.stream().map(example -> new Source("", example)).toList());
  }

  private MutationReport runAll(List<Source> sources) throws InterruptedException {
    MutationReport report = new MutationReport();
    MutationTrial trial = new MutationTrial(device);
    Parallel.map(
        threads,
        sources,
        source -> {
          run(source, trial, report);
          return source;
        });
    return report;
  }

  private void run(Source source, MutationTrial trial, MutationReport report) {
    if (!MutationTrial.isChosen(source.example()) || !trial.isApplicable(source.example())) {
      return;
    }
    report.addModel();
    for (MutationFamily family : MutationFamily.values()) {
      for (Mutation mutation : sample(family, source.example())) {
        report.add(
            family,
            source.file(),
            source.example(),
            mutation.description(),
            trial.attempt(mutation));
      }
    }
    if (!source.example().expectFailure()) {
      runRequests(source, report);
    }
  }

  private void runRequests(Source source, MutationReport report) {
    Example example = source.example();
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest valid = TestRequest.of(decoded)) {
      for (RequestFamily family : RequestFamily.values()) {
        for (RequestFamily.Fault fault : family.of(valid.request())) {
          Verdict verdict = MutationTrial.attempt(prepared, fault, family);
          report.add(family, source.file(), example, fault.description(), verdict);
        }
      }
    } catch (VectorFormatException | DeviceException | RuntimeException | Error e) {
      report.add(
          RequestFamily.REMOVE_INPUT,
          source.file(),
          example,
          "the model itself",
          new Verdict(
              Layer.NOBODY,
              "cannot be prepared, though it is supported: " + Outcome.Failed.of(e).reason()));
    }
  }

  private List<Mutation> sample(MutationFamily family, Example example) {
    List<Mutation> mutations = family.of(example);
    if (mutations.size() <= perFamily) {
      return mutations;
    }
    List<Mutation> shuffled = new ArrayList<>(mutations);
    Collections.shuffle(
        shuffled, new Random(seed ^ example.name().hashCode() ^ ((long) family.ordinal() << 32)));
    return shuffled.subList(0, perFamily);
  }

  /** An example and where it stands. */
  private record Source(String file, Example example) {}
}
