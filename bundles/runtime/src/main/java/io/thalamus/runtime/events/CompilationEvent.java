// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.events;

import jdk.jfr.Description;
import jdk.jfr.Label;

/** An event that belongs to a compilation. */
abstract class CompilationEvent extends RuntimeEvent {
  @Label("Application")
  @Description("Symbolic name of the bundle that asked")
  protected String application;

  @Label("Client")
  @Description("Client of the application; empty for itself")
  protected String client;

  @Label("Model")
  @Description("File of the model, or operations of one that was built")
  protected String model;

  @Label("Priority")
  @Description("Priority among the models of the application")
  protected String priority;

  @Label("Compilation")
  @Description("Number of the compilation in this process")
  protected long compilation;

  final void setLabel(CompilationLabel label) {
    application = label.application();
    client = label.client();
    model = label.model();
    priority = label.priority().name();
    compilation = label.id();
  }
}
