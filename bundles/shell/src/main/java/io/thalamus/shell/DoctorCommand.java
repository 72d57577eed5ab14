// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:doctor}: what is slow or missing here, and how to mend it. Thread-safe. */
@Component(
    service = DoctorCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=doctor"})
public final class DoctorCommand {
  static final Syntax SYNTAX =
      Syntax.of("nn:doctor", "", "What is slow or missing here, and how to mend it.", 0, 0);

  private final NeuralNetworks networks;
  private final CompilationCache cache;
  private final BundleContext context;

  /**
   * Called by the component runtime.
   *
   * @param networks knows the devices
   * @param cache knows what hinders compilations from being kept
   * @param context of this bundle
   */
  @Activate
  public DoctorCommand(
      @Reference NeuralNetworks networks,
      @Reference CompilationCache cache,
      BundleContext context) {
    this.networks = networks;
    this.cache = cache;
    this.context = context;
  }

  /** The command. */
  @Descriptor("what is slow or missing here, and how to mend it")
  public Result doctor(
      CommandSession session,
      @Descriptor("[--json]; nn:doctor --help says more") String[] arguments)
      throws UsageException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    return new DoctorResult(
        new Examination(networks, cache, context).findings(), invocation.style(parsed));
  }
}
