// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.bundles.DeviceProject;
import io.thalamus.shell.results.NewDeviceResult;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.apache.felix.service.command.Function;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * {@code nn:new-device}: a Maven project with a device to be filled. Thread-safe. A {@link
 * Function}, since no method has a dash in its name.
 */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=new-device"})
public final class NewDeviceCommand extends Command implements Function {
  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:new-device",
              "NAME DIR",
              "Writes a Maven project with a device called NAME into the new folder DIR: two"
                  + " kernels, and a test that is the conformance kit.")
          .offering(Candidates.NONE, Candidates.of(Kind.FILES));

  /** The example, which is read when it is wanted. */
  @FunctionalInterface
  interface Example {
    DeviceProject read() throws IOException;
  }

  private final Example example;
  private final Supplier<Set<String>> taken;

  /** Called by the component runtime. */
  @Activate
  public NewDeviceCommand(BundleContext context) {
    this(() -> DeviceProject.of(context.getBundle()), () -> names(new DeviceBundles(context)));
  }

  NewDeviceCommand(Example example, Supplier<Set<String>> taken) {
    super(SYNTAX);
    this.example = example;
    this.taken = taken;
  }

  private static Set<String> names(DeviceBundles bundles) {
    Set<String> names = new TreeSet<>(bundles.available());
    bundles.here().forEach(bundle -> names.addAll(DeviceBundles.devices(bundle)));
    return names;
  }

  @Override
  public Object execute(CommandSession session, List<Object> words) {
    return newDevice(session, words.stream().map(String::valueOf).toArray(String[]::new));
  }

  @Descriptor("write a Maven project with a device to be filled, and its test by the kit")
  public Result newDevice(
      CommandSession session, @Descriptor("NAME DIR " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::write);
  }

  private Result write(Invocation invocation) throws IOException {
    String name = invocation.operand();
    DeviceProject.check(name);
    Set<String> names = taken.get();
    if (names.contains(name)) {
      throw new CommandException(
          "there is a device %s already; taken are %s".formatted(name, String.join(", ", names)));
    }
    String folder = invocation.arguments().operands().get(1);
    DeviceProject project = example.read();
    project.write(name, invocation.path(folder).normalize());
    String jar = "%s/target/%s-1.0.0.jar".formatted(folder.replaceFirst("/+$", ""), name);
    return new NewDeviceResult(name, folder, project.files().size(), jar, invocation.style());
  }
}
