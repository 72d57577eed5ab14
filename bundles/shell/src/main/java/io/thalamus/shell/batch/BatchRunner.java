// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import io.thalamus.console.Reasons;
import io.thalamus.shell.bundles.DeployLog;
import io.thalamus.shell.session.Kept;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.log.LogReaderService;

/**
 * The launcher's way to commands: runs one request in a Gogo session of its own and returns the
 * exit status. Thread-safe: nothing is kept between requests.
 *
 * <p>A request is a map of JDK values: {@code words} (a command of scope {@code nn} and its
 * arguments, or the arguments of a script), {@code text} (Gogo text), {@code file} (a {@link
 * java.nio.file.Path} to a script) or {@code shell} (true for what is typed into the terminal,
 * false for what standard input has), {@code json}, which commands see as the session variable
 * {@code nn.json}, and optionally {@code devices} (true where somebody has chosen them: no kept
 * change of bundles is made then), and {@code out} and {@code err} in place of the process's own
 * streams.
 *
 * <p>The status is 0 where all went well; where a command throws, one line goes to standard error
 * and the status is what {@link io.thalamus.shell.session.Failures} says. Text and files end there;
 * standard input goes on, since somebody may be typing, and the first failure is the status.
 *
 * <p>No type of Gogo's runtime is named here: other containers have only its API, and this is a
 * component all the same.
 */
@Component(service = ToIntFunction.class, property = "thalamus.batch=true")
public final class BatchRunner implements ToIntFunction<Map<String, Object>> {
  private static final int FAILED = 1;

  private final CommandProcessor processor;
  private final LogReaderService log;
  private final BundleContext context;
  private final DeployLog notices;
  private final Kept kept;
  private volatile Requests requests;

  /**
   * Called by the component runtime.
   *
   * @param processor Gogo
   * @param log what went wrong while the container came up, or null where there is no log
   * @param context says where the shell keeps its files
   * @param notices shows warnings above the shell's prompt
   * @param kept what each process begins with
   */
  @Activate
  public BatchRunner(
      @Reference CommandProcessor processor,
      @Reference(
              cardinality = ReferenceCardinality.OPTIONAL,
              policyOption = ReferencePolicyOption.GREEDY)
          LogReaderService log,
      BundleContext context,
      @Reference DeployLog notices,
      @Reference Kept kept) {
    this.kept = kept;
    this.notices = notices;
    this.processor = processor;
    this.log = log;
    this.context = context;
  }

  /** Ends the shell with the bundles that its commands come from. */
  @Deactivate
  public void stop() {
    Requests running = requests;
    if (running != null) {
      running.stop();
    }
  }

  @Override
  public int applyAsInt(Map<String, Object> request) {
    PrintStream out = request.get("out") instanceof PrintStream given ? given : System.out;
    PrintStream err = request.get("err") instanceof PrintStream given ? given : System.err;
    Consumer<String> errors =
        line -> {
          out.flush();
          err.println("thalamus: " + line);
        };
    if (!isGogo()) {
      errors.accept("the shell needs Felix Gogo, and here is " + processor.getClass().getName());
      return FAILED;
    }
    try {
      requests = new Requests(processor, log, context, notices, kept);
      return requests.run(request, out, err, errors);
    } catch (IOException e) {
      errors.accept(Reasons.of(e));
      return FAILED;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return FAILED;
    }
  }

  private boolean isGogo() {
    try {
      return Requests.fit(processor);
    } catch (NoClassDefFoundError withoutGogosRuntime) {
      return false;
    }
  }
}
