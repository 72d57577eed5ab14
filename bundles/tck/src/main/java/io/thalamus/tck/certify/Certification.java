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
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;

/**
 * Runs the conformance kit on a device. Immutable. Its threads end with the run.
 *
 * @param device which is tested
 * @param reference another device whose quantized results count as exact, where one is at hand
 * @param vectors the folder of conformance vectors; without them, examples of the kit's own
 * @param random how many random graphs are run
 * @param seed of the random examples
 * @param exceptions what the device need not pass
 * @param properties of the service that the device is registered as; empty where it is none
 * @param activation makes one more device of the same kind, to be closed, where that is possible
 */
public record Certification(
    Device device,
    Optional<Device> reference,
    Optional<Path> vectors,
    int random,
    long seed,
    Exceptions exceptions,
    Map<String, Object> properties,
    Optional<Callable<Device>> activation) {
  private static final int USUAL_RANDOM = 200;

  private static final List<Part> PARTS =
      List.of(
          new Part("facts", FactChecks::run),
          new Part("memory", MemoryChecks::run),
          new Part("pointers", PointerChecks::run),
          new Part("operations", OperationChecks::operations),
          new Part("memory domains", DomainChecks::run),
          new Part("validation", OperationChecks::validation),
          new Part("caching", CachingChecks::run),
          new Part("quantization", OperationChecks::quantization),
          new Part("graphs", OperationChecks::graphs),
          new Part("concurrency", ConcurrencyChecks::run),
          new Part("control", ControlChecks::run),
          new Part("life cycle", LifecycleChecks::run));

  private record Part(String name, Group group) {}

  public Certification {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(reference, "reference");
    Objects.requireNonNull(vectors, "vectors");
    Objects.requireNonNull(exceptions, "exceptions");
    properties = Map.copyOf(properties);
    Objects.requireNonNull(activation, "activation");
  }

  /** The kit's own examples and 200 random graphs, without exceptions. */
  public static Certification of(Device device) {
    return new Certification(
        device,
        Optional.empty(),
        Optional.empty(),
        USUAL_RANDOM,
        1,
        Exceptions.NONE,
        Map.of(),
        Optional.empty());
  }

  public Certification withReference(Device value) {
    return new Certification(
        device, Optional.of(value), vectors, random, seed, exceptions, properties, activation);
  }

  public Certification withVectors(Path value) {
    return new Certification(
        device, reference, Optional.of(value), random, seed, exceptions, properties, activation);
  }

  public Certification withRandom(int value, long newSeed) {
    return new Certification(
        device, reference, vectors, value, newSeed, exceptions, properties, activation);
  }

  public Certification with(Exceptions value) {
    return new Certification(
        device, reference, vectors, random, seed, value, properties, activation);
  }

  public Certification withProperties(Map<String, Object> value) {
    return new Certification(
        device, reference, vectors, random, seed, exceptions, value, activation);
  }

  public Certification withActivation(Callable<Device> value) {
    return new Certification(
        device, reference, vectors, random, seed, exceptions, properties, Optional.of(value));
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
    return new Subject(this, singles);
  }

  /**
   * Returns whether the device takes an example, or cannot even be asked: then each check fails by
   * it.
   */
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
