// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import java.lang.System.Logger.Level;
import java.util.function.Consumer;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.log.LoggerFactory;
import org.osgi.service.metatype.annotations.Designate;

/**
 * The entry point: isolates the devices of a container, or, in the process of one of them, serves
 * it. Thread-safe.
 */
@Component(
    service = {},
    immediate = true,
    configurationPid = Isolation.PID)
@Designate(ocd = IsolationSettings.class)
public final class Isolation {
  /** The configuration of this bundle in a container. */
  static final String PID = "io.thalamus.isolation";

  /** The framework property that names the folder of the process, where it is one of a device. */
  static final String FOLDER_PROPERTY = "thalamus.isolated";

  /** Null in the process of a device. */
  private final IsolatedBundles bundles;

  /** Null in a container. */
  private final HostProcess host;

  /** Called by the component runtime. */
  @Activate
  public Isolation(
      BundleContext context,
      IsolationSettings settings,
      @Reference(cardinality = ReferenceCardinality.OPTIONAL) LoggerFactory loggers) {
    String folder = context.getProperty(FOLDER_PROPERTY);
    this.bundles = folder == null ? new IsolatedBundles(context, log(loggers)) : null;
    this.host = folder == null ? null : new HostProcess(context, folder);
    if (bundles == null) {
      host.start();
    } else {
      bundles.set(settings);
    }
  }

  /** Returns where the output of processes goes: the log, where there is one. */
  private static Consumer<String> log(LoggerFactory loggers) {
    return loggers == null
        ? line -> System.getLogger(Isolation.class.getPackageName()).log(Level.INFO, line)
        : line -> loggers.getLogger(Isolation.class).info(line);
  }

  /** Takes over other settings. */
  @Modified
  void modified(IsolationSettings settings) {
    if (bundles != null) {
      bundles.set(settings);
    }
  }

  /** Ends the processes of devices. */
  @Deactivate
  void close() {
    if (bundles != null) {
      bundles.close();
    }
  }
}
