// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.io.PrintStream;
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
import org.apache.felix.service.command.Parameter;
import org.apache.felix.service.command.Process;
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
    service = CertifyCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=certify"})
public final class CertifyCommand {
  private static final String USAGE =
      "nn:certify DEVICE [--random N] [--seed S] [--vectors DIR] [--exceptions FILE] [--json]";
  private static final String NONE = "";

  /** The short name of the device whose quantized results are exact. */
  private static final String REFERENCE = "cpu";

  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public CertifyCommand(BundleContext context) {
    this.context = context;
  }

  /** The command. */
  @Descriptor(
      "run the conformance kit on a device; the last line is: N passed, N failed, N skipped")
  public Object certify(
      CommandSession session,
      @Descriptor("how many random graphs (200)")
          @Parameter(names = "--random", absentValue = "200")
          int random,
      @Descriptor("of the first random graph (1)") @Parameter(names = "--seed", absentValue = "1")
          long seed,
      @Descriptor("conformance vectors; none for the kit's own examples")
          @Parameter(names = "--vectors", absentValue = NONE)
          String vectors,
      @Descriptor("checks that need not pass: lines of 'never GROUP/NAME: REASON'")
          @Parameter(names = "--exceptions", absentValue = NONE)
          String exceptions,
      @Descriptor("the result as one JSON object on one line")
          @Parameter(names = "--json", absentValue = "false", presentValue = "true")
          boolean json,
      @Descriptor("this text")
          @Parameter(names = "--help", absentValue = "false", presentValue = "true")
          boolean help,
      @Descriptor("DEVICE") String... device)
      throws CertifyException {
    if (help) {
      return "usage: " + USAGE + "\nGroups of checks: " + String.join(", ", Certification.groups());
    }
    if (device.length != 1 || random < 0) {
      throw CertifyException.usage("usage: " + USAGE);
    }
    Map<String, ServiceReference<Device>> devices = devices();
    ServiceReference<Device> reference = devices.get(device[0]);
    if (reference == null) {
      throw CertifyException.failed(
          "no device " + device[0] + "; there are: " + String.join(", ", devices.keySet()));
    }
    List<ServiceReference<Device>> held = new ArrayList<>();
    try {
      Certification certification =
          Certification.of(hold(reference, held))
              .withRandom(random, seed)
              .with(exceptions(session, exceptions));
      Optional<Path> root = vectors(session, vectors);
      if (root.isPresent()) {
        certification = certification.withVectors(root.get());
      }
      Optional<Device> exact = exact(devices, reference, held);
      if (exact.isPresent()) {
        certification = certification.withReference(exact.get());
      }
      return answer(session, certification, json || isTrue(session.get("nn.json")));
    } finally {
      held.forEach(context::ungetService);
    }
  }

  private Object answer(CommandSession session, Certification certification, boolean json)
      throws CertifyException {
    Process process = Process.Utils.current();
    PrintStream err = process == null || process.err() == null ? System.err : process.err();
    CertificationReport report;
    try {
      report = certification.run(group -> err.println("certify: " + group));
    } catch (IOException | VectorFormatException e) {
      throw CertifyException.failed(e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw CertifyException.failed("interrupted");
    }
    CertifyResult result = new CertifyResult(report, json);
    if (report.total().failed() == 0) {
      return result;
    }
    // The results belong on standard output even though the command fails.
    PrintStream out =
        process == null || process.out() == null ? session.getConsole() : process.out();
    out.println(result.show());
    out.flush();
    throw CertifyException.failed(
        report.total().failed() + " of " + report.findings().size() + " checks failed");
  }

  private static boolean isTrue(Object value) {
    return value != null && "true".equalsIgnoreCase(value.toString());
  }

  /** By short name. */
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

  private Device hold(ServiceReference<Device> reference, List<ServiceReference<Device>> held)
      throws CertifyException {
    Device device = context.getService(reference);
    if (device == null) {
      throw CertifyException.failed("the device has just gone");
    }
    held.add(reference);
    return device;
  }

  /** The reference device, unless it is the one that is tested. */
  private Optional<Device> exact(
      Map<String, ServiceReference<Device>> devices,
      ServiceReference<Device> tested,
      List<ServiceReference<Device>> held)
      throws CertifyException {
    ServiceReference<Device> reference = devices.get(REFERENCE);
    return reference == null || reference == tested
        ? Optional.empty()
        : Optional.of(hold(reference, held));
  }

  private static Exceptions exceptions(CommandSession session, String file)
      throws CertifyException {
    try {
      return file.isEmpty() ? Exceptions.NONE : Exceptions.read(path(session, file));
    } catch (IOException e) {
      throw CertifyException.failed("cannot read the exceptions: " + e.getMessage());
    }
  }

  private static Optional<Path> vectors(CommandSession session, String folder)
      throws CertifyException {
    if (folder.equals("none")) {
      return Optional.empty();
    }
    if (folder.isEmpty()) {
      return ConformanceData.vectors();
    }
    Path path = path(session, folder);
    if (!Files.exists(path)) {
      throw CertifyException.failed("no such file or folder: " + path);
    }
    return Optional.of(path);
  }

  private static Path path(CommandSession session, String word) {
    Path directory = session.currentDir();
    return directory == null ? Path.of(word) : directory.resolve(word);
  }
}
