// SPDX-License-Identifier: Apache-2.0
/** Models for the commands: opened by file or name, and what can be said of them unrun. */
package io.thalamus.shell.model;
