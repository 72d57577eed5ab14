// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.graph.GraphGenerator;
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
 * A run of the conformance kit on a device: with the kit's own examples, 200 random graphs, ten bad
 * packets each and no exceptions, unless set otherwise. Set up and run by one thread; the threads
 * of the run end with it. Borrows the devices.
 */
public final class Certification {
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
          new Part("burst", BurstChecks::run),
          new Part("concurrency", ConcurrencyChecks::run),
          new Part("control", ControlChecks::run),
          new Part("fences", FenceChecks::run),
          new Part("deadlines", DeadlineChecks::run),
          new Part("life cycle", LifecycleChecks::run));

  private record Part(String name, Group group) {}

  final Device device;
  Optional<Device> reference = Optional.empty();
  Optional<Path> vectors = Optional.empty();
  Optional<Callable<Device>> activation = Optional.empty();
  Map<String, Object> properties = Map.of();
  int random = 200;
  int packets = 10;
  long seed = 1;
  private Exceptions exceptions = Exceptions.NONE;

  private Certification(Device device) {
    this.device = Objects.requireNonNull(device, "device");
  }

  /** A run on a device. */
  public static Certification of(Device device) {
    return new Certification(device);
  }

  /** Sets another device, whose quantized results count as exact. */
  public Certification withReference(Device value) {
    reference = Optional.of(value);
    return this;
  }

  /** Sets the folder of conformance vectors, in place of examples of the kit's own. */
  public Certification withVectors(Path value) {
    vectors = Optional.of(value);
    return this;
  }

  /**
   * Sets how many random graphs are run, and about how many examples with deadlines; and the seed
   * of random examples and packets.
   */
  public Certification withRandom(int value, long newSeed) {
    random = value;
    seed = newSeed;
    return this;
  }

  /** Sets how many bad packets a burst gets of each example, those of wrong size not counted. */
  public Certification withPackets(int value) {
    packets = value;
    return this;
  }

  /** Sets what the device need not pass. */
  public Certification with(Exceptions value) {
    exceptions = Objects.requireNonNull(value, "exceptions");
    return this;
  }

  /** Sets the properties of the service that the device is registered as. */
  public Certification withProperties(Map<String, Object> value) {
    properties = Map.copyOf(value);
    return this;
  }

  /** Sets what makes one more device of the same kind, to be closed. */
  public Certification withActivation(Callable<Device> value) {
    activation = Optional.of(value);
    return this;
  }

  /** The names of the groups of checks, in their order. */
  public static List<String> groups() {
    return PARTS.stream().map(Part::name).toList();
  }

  /**
   * Runs all groups.
   *
   * @param listener called with the name of each group before it runs
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
          new Findings(part.name(), device, finding -> findings.add(exceptions.apply(finding)));
      try {
        part.group().run(subject, found);
      } catch (RuntimeException | Error e) {
        // Thrown by the device between two checks: a failure of it, and the next group goes on.
        found.add("the group", Outcome.Failed.of(e));
      }
    }
    return new CertificationReport(
        name(),
        findings,
        subject.badPackets().sum(),
        subject.onDeadlines().sum(),
        Duration.ofNanos(System.nanoTime() - start));
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
        GraphGenerator.over(device).singles(2, seed).stream()
            .filter(example -> Probes.takes(device, example))
            .toList();
    return new Subject(this, singles);
  }
}
