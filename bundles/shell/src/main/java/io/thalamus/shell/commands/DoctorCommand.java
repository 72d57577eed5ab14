// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Command;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.doctor.Diagnostics;
import io.thalamus.shell.results.DoctorResult;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:doctor}: what is slow or missing here, and the remedy. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=doctor"})
public final class DoctorCommand extends Command {
  private static final Syntax SYNTAX =
      Syntax.of("nn:doctor", "", "What is slow or missing here, and how to mend it.");

  private final NeuralNetworks networks;
  private final CompilationCache cache;
  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public DoctorCommand(
      @Reference NeuralNetworks networks,
      @Reference CompilationCache cache,
      BundleContext context) {
    super(SYNTAX);
    this.networks = networks;
    this.cache = cache;
    this.context = context;
  }

  @Descriptor("what is slow or missing here, and how to mend it")
  public Result doctor(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(
        SYNTAX,
        session,
        words,
        invocation ->
            new DoctorResult(
                new Diagnostics(networks, cache, context).findings(), invocation.style()));
  }
}
