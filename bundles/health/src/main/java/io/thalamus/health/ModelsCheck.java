// SPDX-License-Identifier: Apache-2.0
package io.thalamus.health;

import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import org.apache.felix.hc.api.FormattingResultLog;
import org.apache.felix.hc.api.HealthCheck;
import org.apache.felix.hc.api.Result;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/** Whether the models of the served folder answer. Thread-safe. */
@Component(property = {HealthCheck.NAME + "=Thalamus models", HealthCheck.TAGS + "=thalamus"})
public final class ModelsCheck implements HealthCheck {
  /** Null while no folder is served. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile InferenceServer server;

  /** Called by the component runtime. */
  public ModelsCheck() {}

  /** A check of this server; null for none. */
  ModelsCheck(InferenceServer server) {
    this.server = server;
  }

  @Override
  public Result execute() {
    InferenceServer now = server;
    FormattingResultLog log = new FormattingResultLog();
    if (now == null) {
      log.info("no folder of models is served");
      return new Result(log);
    }
    boolean isReady = now.isReady();
    boolean isLoading = false;
    for (IndexEntry entry : now.index()) {
      String name = entry.name() + " version " + entry.version();
      isLoading |= entry.state() == ModelState.LOADING;
      if (entry.state() == ModelState.READY && entry.reason().isEmpty()) {
        log.info("{} answers", name);
      } else if (entry.state() == ModelState.READY) {
        log.warn("{} answers, but not as its file is now: {}", name, entry.reason());
      } else if (isReady) {
        // Another version answers, or nobody wants it.
        log.info("{} is {}: {}", name, entry.state(), entry.reason());
      } else {
        log.warn("{} is {}: {}", name, entry.state(), entry.reason());
      }
    }
    if (isReady) {
      log.info("the server is ready");
    } else if (isLoading) {
      log.temporarilyUnavailable("the server is not ready: it loads models");
    } else {
      log.critical("the server is not ready: a wanted model does not answer, or it ends");
    }
    return new Result(log);
  }
}
