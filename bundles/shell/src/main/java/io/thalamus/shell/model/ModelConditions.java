// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import java.lang.System.Logger.Level;
import java.util.Dictionary;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceListener;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.condition.Condition;

/**
 * For each model that {@code nn:load} keeps, the condition {@code thalamus.model.NAME}: a service
 * as long as the devices at hand can execute the model. Thread-safe. Looks again when models or
 * devices come and go, in a thread of its own: a device may be slow to say what it supports.
 */
@Component(
    service = {},
    immediate = true)
public final class ModelConditions {
  /** The beginning of the ids of the conditions. */
  public static final String PREFIX = "thalamus.model.";

  private static final System.Logger LOG = System.getLogger(ModelConditions.class.getPackageName());
  private static final String READY =
      "(&(objectClass=" + Condition.class.getName() + ")(osgi.condition.id=thalamus.ready))";
  private static final long IDLE_SECONDS = 5;
  private static final long END_SECONDS = 5;

  private final NeuralNetworks networks;
  private final Models models;
  private final BundleContext context;
  private final Runnable onModels = this::lookLater;
  private final ServiceListener onDevices = event -> lookLater();
  private final Map<String, ServiceRegistration<Condition>> conditions = new HashMap<>();
  private final ThreadPoolExecutor thread =
      new ThreadPoolExecutor(
          1,
          1,
          IDLE_SECONDS,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          ModelConditions::thread);
  private boolean closed;

  /**
   * Called by the component runtime.
   *
   * @param networks says whether a model can be planned
   * @param models the kept ones
   * @param context of this bundle
   */
  @Activate
  public ModelConditions(
      @Reference NeuralNetworks networks, @Reference Models models, BundleContext context)
      throws InvalidSyntaxException {
    this.networks = networks;
    this.models = models;
    this.context = context;
    thread.allowCoreThreadTimeOut(true);
    models.addListener(onModels);
    context.addServiceListener(onDevices, READY);
    lookLater();
  }

  /** Takes over nothing of the bundle whose coming or going is the reason to look. */
  private static Thread thread(Runnable task) {
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .inheritInheritableThreadLocals(false)
            .name("thalamus-conditions")
            .unstarted(task);
    thread.setContextClassLoader(ModelConditions.class.getClassLoader());
    return thread;
  }

  private void lookLater() {
    // One look that waits already will see this change too.
    if (!thread.getQueue().isEmpty()) {
      return;
    }
    try {
      thread.execute(this::look);
    } catch (RejectedExecutionException e) {
      LOG.log(Level.DEBUG, "not looked at, since the shell stops");
    }
  }

  private void look() {
    List<String> usable =
        models.kept().stream().filter(this::isUsable).map(ResidentModel::name).toList();
    synchronized (conditions) {
      if (closed) {
        return;
      }
      usable.forEach(name -> conditions.computeIfAbsent(name, this::register));
      conditions
          .entrySet()
          .removeIf(
              entry -> {
                boolean isGone = !usable.contains(entry.getKey());
                if (isGone) {
                  entry.getValue().unregister();
                }
                return isGone;
              });
    }
  }

  private ServiceRegistration<Condition> register(String name) {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(Condition.CONDITION_ID, PREFIX + name);
    return context.registerService(Condition.class, Condition.INSTANCE, properties);
  }

  private boolean isUsable(ResidentModel model) {
    Optional<OpenModel> use = model.use();
    if (use.isEmpty()) {
      return false;
    }
    try (OpenModel open = use.get()) {
      networks.plan(open.model(), CompilationOptions.DEFAULT);
      return true;
    } catch (NeuralNetworksException e) {
      LOG.log(Level.DEBUG, "the model {0} cannot be executed: {1}", model.name(), e.getMessage());
      return false;
    }
  }

  @Deactivate
  void close() {
    context.removeServiceListener(onDevices);
    models.removeListener(onModels);
    thread.shutdown();
    try {
      if (!thread.awaitTermination(END_SECONDS, TimeUnit.SECONDS)) {
        LOG.log(Level.WARNING, "a device does not say what it supports");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (conditions) {
      closed = true;
      conditions.values().forEach(ServiceRegistration::unregister);
      conditions.clear();
    }
  }
}
