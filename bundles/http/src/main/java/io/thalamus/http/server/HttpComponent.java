// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http.server;

import io.thalamus.http.HttpServer;
import io.thalamus.http.ListenFailure;
import io.thalamus.http.Route;
import io.thalamus.http.settings.HttpSettings;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.LinkedHashSet;
import java.util.Set;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.metatype.annotations.Designate;

/**
 * The server of a container: listens as long as it is configured, and finds routes as services.
 * Thread-safe.
 */
@Component(
    service = {},
    immediate = true,
    configurationPid = HttpComponent.PID,
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = HttpSettings.class)
public final class HttpComponent {
  /** The configuration without which nothing listens. */
  public static final String PID = "io.thalamus.http";

  private static final System.Logger LOG = System.getLogger(HttpComponent.class.getPackageName());

  private final Set<Route.Provider> providers = new LinkedHashSet<>();
  private NettyServer server;
  private ServiceRegistration<?> registration;

  /** Listens, or says why it cannot. */
  @Activate
  void open(BundleContext context, HttpSettings settings) {
    try {
      synchronized (this) {
        server = new NettyServer(settings, router());
      }
      registration = context.registerService(HttpServer.class, server, null);
    } catch (IOException e) {
      // Whoever wants a server reads the service, and would tell a warning a second time.
      LOG.log(Level.INFO, e.getMessage());
      ListenFailure failure = new ListenFailure(e.getMessage());
      registration = context.registerService(ListenFailure.class, failure, null);
    }
  }

  /** Ends what runs, and listens no more. */
  @Deactivate
  void close() {
    try {
      if (server != null) {
        server.close();
      }
    } finally {
      registration.unregister();
    }
  }

  /** Has the routes of a bundle answered. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  synchronized void addProvider(Route.Provider provider) {
    providers.add(provider);
    publish();
  }

  /** Has the routes of a bundle answered no more. */
  synchronized void removeProvider(Route.Provider provider) {
    providers.remove(provider);
    publish();
  }

  private void publish() {
    if (server != null) {
      server.setRouter(router());
    }
  }

  private Router router() {
    return new Router(providers.stream().flatMap(each -> each.routes().stream()).toList());
  }
}
