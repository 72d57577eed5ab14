// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import io.thalamus.console.Arguments;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Reasons;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * {@code nn:certify}: the conformance kit on a device of this container. Thread-safe. Holds device
 * services only while it runs.
 */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=certify"})
public final class CertifyCommand extends Command {
  private static final Candidates FILES = Candidates.of(Kind.FILES);

  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:certify",
              "DEVICE",
              "Runs the conformance kit on a device; fails where a check does.\nGroups of checks: "
                  + String.join(", ", Certification.groups()))
          .offering(Candidates.of(Kind.DEVICES))
          .option(
              "random",
              "N",
              "how many random graphs, and about how many examples with deadlines (200)")
          .option("packets", "N", "how many bad packets a burst gets of each example (10)")
          .option("seed", "S", "of the first random graph (1)")
          .option("vectors", "DIR", "conformance vectors; none for the kit's own examples", FILES)
          .option(
              "exceptions",
              "FILE",
              "checks that need not pass: lines of 'never GROUP/NAME: REASON'",
              FILES);

  private static final int USUAL_GRAPHS = 200;
  private static final int USUAL_PACKETS = 10;

  /** The short name of the device whose quantized results are exact. */
  private static final String REFERENCE = "cpu";

  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public CertifyCommand(BundleContext context) {
    super(SYNTAX);
    this.context = context;
  }

  @Descriptor(
      "run the conformance kit on a device; the last line is: N passed, N failed, N skipped")
  public Result certify(CommandSession session, @Descriptor("DEVICE " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::certify);
  }

  private Result certify(Invocation invocation)
      throws IOException, VectorFormatException, InterruptedException {
    Arguments arguments = invocation.arguments();
    int random = arguments.integer("random", 0).orElse(USUAL_GRAPHS);
    int packets = arguments.integer("packets", 0).orElse(USUAL_PACKETS);
    long seed = arguments.integer("seed", Long.MIN_VALUE, Long.MAX_VALUE).orElse(1);
    Map<String, ServiceReference<Device>> devices = devices();
    ServiceReference<Device> reference = devices.get(invocation.operand());
    if (reference == null) {
      throw CommandException.missing("no device " + invocation.operand(), devices.keySet());
    }
    List<ServiceReference<Device>> held = new ArrayList<>();
    try {
      Certification certification =
          Certification.of(hold(reference, held))
              .withProperties(properties(reference))
              .withRandom(random, seed)
              .withPackets(packets)
              .with(exceptions(invocation));
      Optional<Path> root = vectors(invocation);
      if (root.isPresent()) {
        certification = certification.withVectors(root.get());
      }
      Optional<Device> exact = exact(devices, reference, held);
      if (exact.isPresent()) {
        certification = certification.withReference(exact.get());
      }
      CertificationReport report =
          certification.run(group -> invocation.err().println("certify: " + group));
      CertifyResult result = new CertifyResult(report, invocation.style());
      if (report.total().failed() == 0) {
        return result;
      }
      throw invocation.failure(
          result, report.total().failed() + " of " + report.findings().size() + " checks failed");
    } finally {
      held.forEach(context::ungetService);
    }
  }

  private static Map<String, Object> properties(ServiceReference<Device> reference) {
    Map<String, Object> properties = new TreeMap<>();
    for (String key : reference.getPropertyKeys()) {
      properties.put(key, reference.getProperty(key));
    }
    return properties;
  }

  /** Returns the devices by their short names. */
  private Map<String, ServiceReference<Device>> devices() {
    try {
      return context
          .getServiceReferences(Device.class, "(" + DeviceDriver.NAMESPACE + "=*)")
          .stream()
          .collect(
              Collectors.toMap(
                  found -> String.valueOf(found.getProperty(DeviceDriver.NAMESPACE)),
                  found -> found,
                  (first, second) -> first,
                  TreeMap::new));
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e); // the filter is a constant
    }
  }

  private Device hold(ServiceReference<Device> reference, List<ServiceReference<Device>> held) {
    Device device = context.getService(reference);
    if (device == null) {
      throw new CommandException("the device has just gone");
    }
    held.add(reference);
    return device;
  }

  /** Returns the reference device, unless it is the one that is tested. */
  private Optional<Device> exact(
      Map<String, ServiceReference<Device>> devices,
      ServiceReference<Device> tested,
      List<ServiceReference<Device>> held) {
    ServiceReference<Device> reference = devices.get(REFERENCE);
    return reference == null || reference == tested
        ? Optional.empty()
        : Optional.of(hold(reference, held));
  }

  private static Exceptions exceptions(Invocation invocation) {
    Optional<String> file = invocation.arguments().text("exceptions");
    try {
      return file.isEmpty() ? Exceptions.NONE : Exceptions.read(invocation.path(file.get()));
    } catch (IOException e) {
      // Such an exception carries nothing but the path; the reader's own names file and line.
      String why =
          e instanceof FileSystemException
              ? file.orElseThrow() + ": " + Reasons.of(e)
              : e.getMessage();
      throw new CommandException("cannot read the exceptions: " + why, e);
    }
  }

  private static Optional<Path> vectors(Invocation invocation) {
    Optional<String> folder = invocation.arguments().text("vectors");
    if (folder.isEmpty()) {
      return ConformanceData.vectors();
    }
    if (folder.get().equals("none")) {
      return Optional.empty();
    }
    Path path = invocation.path(folder.get());
    if (!Files.exists(path)) {
      throw new CommandException("no such file or folder: " + path);
    }
    return Optional.of(path);
  }
}
