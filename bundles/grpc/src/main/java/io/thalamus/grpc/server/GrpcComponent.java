// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.http.HttpServer;
import io.thalamus.http.ListenFailure;
import io.thalamus.http.settings.HttpSettings;
import io.thalamus.serving.InferenceServer;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * The server of a container: listens as long as it is configured and there are models to serve. Its
 * own configuration has host and port; all else (keys, tokens, limits) it shares with HTTP, whose
 * configuration comes first, unless its own says otherwise. Thread-safe.
 */
@Component(
    service = {},
    immediate = true,
    configurationPid = {"io.thalamus.http", GrpcComponent.PID},
    configurationPolicy = ConfigurationPolicy.REQUIRE)
public final class GrpcComponent {
  /** The configuration without which nothing listens. */
  public static final String PID = "io.thalamus.grpc";

  private static final System.Logger LOG = System.getLogger(GrpcComponent.class.getPackageName());

  @Reference private InferenceServer served;

  private GrpcServer server;
  private ServiceRegistration<?> registration;

  /** Listens, or says why it cannot. */
  @Activate
  void open(BundleContext context, HttpSettings settings) {
    Dictionary<String, Object> properties = new Hashtable<>(Map.of(HttpServer.PROTOCOL, "grpc"));
    try {
      server = new GrpcServer(settings, served);
      registration = context.registerService(HttpServer.class, server, properties);
    } catch (IOException e) {
      // Whoever wants a server reads the service, and would tell a warning a second time.
      LOG.log(Level.INFO, e.getMessage());
      ListenFailure failure = new ListenFailure(e.getMessage());
      registration = context.registerService(ListenFailure.class, failure, properties);
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
}
