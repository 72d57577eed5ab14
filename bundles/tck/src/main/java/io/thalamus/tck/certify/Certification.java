// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.Model;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Runs the conformance kit on a device. Immutable. Its threads end with the run.
 *
 * @param device who is tested
 * @param reference another device whose quantized results count as exact, where one is at hand
 * @param vectors the folder of conformance vectors; without them, examples of the kit's own
 * @param random how many random graphs are run
 * @param seed of the random examples
 * @param exceptions what the device need not pass
 */
public record Certification(
    Device device,
    Optional<Device> reference,
    Optional<Path> vectors,
    int random,
    long seed,
    Exceptions exceptions) {
  private static final int USUAL_RANDOM = 200;

  private static final List<Part> PARTS =
      List.of(
          new Part("facts", Facts::run),
          new Part("memory", Memories::run),
          new Part("pointers", Pointers::run),
          new Part("operations", Results::operations),
          new Part("memory domains", Domains::run),
          new Part("validation", Results::validation),
          new Part("caching", Caching::run),
          new Part("quantization", Results::quantization),
          new Part("graphs", Results::graphs),
          new Part("concurrency", Calls::concurrency),
          new Part("control", Calls::control),
          new Part("life cycle", Calls::lifeCycle));

  private record Part(String name, Group group) {}

  public Certification {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(reference, "reference");
    Objects.requireNonNull(vectors, "vectors");
    Objects.requireNonNull(exceptions, "exceptions");
  }

  /** The kit's own examples and 200 random graphs, without exceptions. */
  public static Certification of(Device device) {
    return new Certification(
        device, Optional.empty(), Optional.empty(), USUAL_RANDOM, 1, Exceptions.NONE);
  }

  public Certification withReference(Device value) {
    return new Certification(device, Optional.of(value), vectors, random, seed, exceptions);
  }

  public Certification withVectors(Path value) {
    return new Certification(device, reference, Optional.of(value), random, seed, exceptions);
  }

  public Certification withRandom(int value, long newSeed) {
    return new Certification(device, reference, vectors, value, newSeed, exceptions);
  }

  public Certification with(Exceptions value) {
    return new Certification(device, reference, vectors, random, seed, value);
  }

  /** The names of the groups of checks, in their order. */
  public static List<String> groups() {
    return PARTS.stream().map(Part::name).toList();
  }

  /**
   * Runs all groups.
   *
   * @param listener told the name of each group before it runs
   * @throws IOException where the vectors cannot be read
   * @throws VectorFormatException where they are damaged
   * @throws InterruptedException where the calling thread was interrupted
   */
  public CertificationReport run(Consumer<String> listener)
      throws IOException, VectorFormatException, InterruptedException {
    long start = System.nanoTime();
    List<Finding> findings = new ArrayList<>();
    Subject subject = subject();
    for (Part part : PARTS) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      listener.accept(part.name());
      Findings found =
          new Findings(part.name(), finding -> findings.add(exceptions.apply(finding)));
      try {
        part.group().run(subject, found);
      } catch (RuntimeException | Error e) {
        // Thrown by the device between two checks: a failure of it, and the next group goes on.
        found.add("the group", Outcome.Failed.of(e));
      }
    }
    return new CertificationReport(name(), findings, Duration.ofNanos(System.nanoTime() - start));
  }

  private String name() {
    try {
      return device.info().name();
    } catch (RuntimeException | Error e) {
      return "a device that threw " + e; // found by the facts
    }
  }

  private Subject subject() {
    // A device may take an operation in some forms only.
    List<Example> singles =
        GraphGenerator.over(device).singles(2, seed).stream().filter(this::isTaken).toList();
    return new Subject(device, reference, vectors, singles, random, seed);
  }

  /** Whether the device takes an example, or cannot even be asked: then each check fails by it. */
  private boolean isTaken(Example example) {
    try (DecodedExample decoded = example.decode()) {
      Model model = decoded.model();
      return device.supportedOperations(model).nextClearBit(0) >= model.main().operations().size();
    } catch (VectorFormatException e) {
      throw new IllegalStateException(example.name() + " was generated wrongly", e);
    } catch (DeviceException | RuntimeException | Error e) {
      return true;
    }
  }
}
